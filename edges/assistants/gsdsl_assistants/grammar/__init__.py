"""The grammar for other programs: a grammar over characters (GBNF) that constrains the output of language models."""
