"""One file per figure, each returning a plain Plotly figure as data."""
