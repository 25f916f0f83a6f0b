"""Headlight: see a Transformer translate, head by head. Run with `streamlit run app.py`."""

from headlight.app.main import main

main()
