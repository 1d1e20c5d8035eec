"""The page API: pages driven by selectors, elements and scripts."""
