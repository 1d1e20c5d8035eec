"""Give a deep agent (LangChain) the sandbox for its files and its commands, and a person to ask."""

import os

from deepagents import create_deep_agent
from langchain_openai import ChatOpenAI
from tandem import Sandbox
from tandem.integrations.deepagents import SandboxBackend, ask_person

TASK = os.environ.get(
    "TASK", "Write a Python program to /home/gem/greet.py that greets whoever it is given, run it for Ada, and tell what it says."
)
PATIENCE = float(os.environ.get("PATIENCE", "600"))
"""Seconds to wait for a person: for an answer, and while one drives."""

model = ChatOpenAI(model=os.environ.get("MODEL", "gpt-5-mini"))  # OPENAI_API_KEY, and OPENAI_BASE_URL for other servers of the same API
with Sandbox(patience=PATIENCE) as sandbox:
    agent = create_deep_agent(model=model, backend=SandboxBackend(sandbox), tools=[ask_person(sandbox, timeout=PATIENCE)])
    for message in agent.invoke({"messages": [{"role": "user", "content": TASK}]})["messages"][1:]:
        print(f"{message.type}: {message.text or [call['name'] for call in message.tool_calls]}")
