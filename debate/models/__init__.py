"""Language models behind one interface: remote, local, embedded and scripted."""
