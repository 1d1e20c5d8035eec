"""Keep a state of the computer, let something go wrong, see what changed, and go back."""

from tandem import Sandbox

with Sandbox() as sandbox:
    sandbox.shell.run("mkdir -p ~/project && echo 'three weeks of work' >~/project/notes.txt", check=True)

    with sandbox.checkpoint("before the cleanup") as before:
        sandbox.shell.run("rm -rf ~/project; sudo rm -rf /usr/share/doc")
        print("after the cleanup:", sandbox.shell.run("cat ~/project/notes.txt").stderr)
        print("deleted meanwhile:", *(found.path for found in before.changes() if found.change == "deleted"))

        back = before.restore()
        print("after going back:", sandbox.shell.run("cat ~/project/notes.txt").stdout)
        print("what was there is kept, too:", back.kept.label if back.kept else "nothing changed")
