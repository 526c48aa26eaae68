"""Problems as JSON documents."""
