"""Problems that fall into blocks: column generation over the blocks, with everything shared left in the master."""
