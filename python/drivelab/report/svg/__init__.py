"""Draws the figures, which are data in Plotly's words, as SVG: for the page, for files and for notebooks."""
