"""Shell: sessions in terminals that an agent drives by command and a person sees and types into."""
