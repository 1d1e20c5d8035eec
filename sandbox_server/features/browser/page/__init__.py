"""The page API: pages driven as a program does, by selector, by element and by script."""
