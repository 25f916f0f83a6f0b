"""The atlas of heads: what each attention head does over a whole corpus, by statistics that merge."""
