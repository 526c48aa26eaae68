"""From text to tree: tokens, the LALR parser with recovery, the builder of the syntax tree."""
