"""Highlighting of texts by others: classes of words, a TextMate grammar, a lexer for Pygments."""
