"""The features of the language server, one per file: from a document to the types of the protocol."""
