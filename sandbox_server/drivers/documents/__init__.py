"""Documents and web pages as text: PDF, Excel, PowerPoint and HTML, converted by programs that run as the agent."""
