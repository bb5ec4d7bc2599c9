"""What people and programs see of a verdict. Nothing here decides anything."""
