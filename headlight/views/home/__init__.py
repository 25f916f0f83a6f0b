"""The home: what this is, a first look at the visitor's own sentence, and three ways on."""
