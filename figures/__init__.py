"""Pure functions from traces and arrays to Plotly figures and the sentences beside them."""
