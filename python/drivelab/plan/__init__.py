"""Pure: turns an experiment and facts into ordered steps."""
