"""The steps of an attention block as a NumPy program with its arrays, to read and to take home."""

import streamlit as st

from figures.stages import View
from transformer.stage_script import bundle, script
from transformer.stages import BlockParameters, Stages


def offer_program(stages: Stages, parameters: BlockParameters, view: View, title: str, name: str) -> None:
    """The program and its download; `title` says what it recomputes, `name` begins the file's."""
    program = script(stages, parameters, title, cross=view.kind == "cross", sentence=view.sentence, head=view.head)
    st.subheader("The same in NumPy")
    st.markdown(
        f"These {len(program.splitlines())} lines go through all the steps in float64 and print the same numbers. The "
        "download holds them and this example's arrays."
    )
    st.download_button(
        "Download program and arrays", lambda: bundle(stages, parameters, program), f"{name}.zip",
        "application/zip", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    with st.expander("The program"):
        st.code(program, language="python")
