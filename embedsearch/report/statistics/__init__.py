"""How sure a number is: pure functions of numbers."""
