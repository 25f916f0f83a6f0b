"""Forty sentences for the laws of captions: ordinary ones, and what a visitor types to see what happens."""

SENTENCES = (
    *("I love my teacher.", "Where is my cat?", "He bought a ticket at the train station.", "She reads a book."),
    *("I can't swim, and I don't want to learn it.", "Tom climbed over the wall.", "My dog has fleas.", "Yes.", "No!"),
    *("The old man saw the old dog and the old cat.", "no no no no no no", "Tom Tom Tom", "a", "?", ".", "...", "I"),
    *(
        "\U0001f600 cat",
        "\U0001f600",
        "Привет, мир",
        'x < y & z > "w"',
        "<b>bold</b> and `code` and $x^2$",
        "1 + 1 = 2",
    ),
    *(
        "We have to go now.",
        "They were late again.",
        "What time is it?",
        "Do you know her?",
        "It was raining, but we went.",
    ),
    *("If I had known, I would have come.", "The book that you gave me is on the table.", "Nobody knows why he left."),
    *("Machine learning models are trained on large amounts of data.", "The animal didn't cross because it was tired."),
    *("Open the window, please.", "How many people live here?", "I've never been so happy in my life!", "Mary's car"),
    *("Ich liebe meinen Lehrer.", "e\u0301te\u0301 naïve café", "word " * 60),
)
