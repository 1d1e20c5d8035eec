"""A lexer for shell lines: which simple commands a line holds, as words without quotes, whatever nests them.

It follows the shell's grammar as far as words go: quotes, operators, substitutions, here-documents, comments, reserved
words and assignments. What a word becomes by expansion is not known: such a word is `dynamic`.
"""

from dataclasses import dataclass, field, replace

MAX_LINE = 64 << 10
"""Characters of a line that is read. A longer one is not understood."""
MAX_DEPTH = 12
"""Substitutions within substitutions."""
MAX_COMMANDS = 1000
_OPERATORS = ";&|()"
_EXPANDED = "*?[{"
"""Unquoted characters by which a word may become another one."""
_RESERVED = frozenset(["if", "then", "elif", "else", "fi", "do", "done", "while", "until", "{", "}", "!", "esac"])
_HEADS = frozenset({"for", "case", "select"})
"""Reserved words that no command follows directly."""
_UNREAD = frozenset({"function", "coproc"})
"""Reserved words whose forms are not read."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_DIGITS = {"x": 2, "u": 4, "U": 8}


class NotUnderstood(ValueError):
    """A line that a shell would not take, or that is too large to read."""


@dataclass(frozen=True, slots=True)
class ShellWord:
    """One word, without its quotes."""

    text: str
    dynamic: bool = False
    """Whether an expansion may make another word, or several, of it."""


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One simple command of a line."""

    words: tuple[ShellWord, ...]
    """Without assignments and redirections."""
    assignments: tuple[ShellWord, ...] = ()
    piped: bool = False
    """Whether it reads another command's output, or a here-document."""


@dataclass(slots=True)
class _HereDocument:
    delimiter: str
    quoted: bool
    strips_tabs: bool


@dataclass(slots=True)
class _Reader:
    """Reads one text. Nested texts get a reader of their own, and add to the same commands."""

    text: str
    commands: list[SimpleCommand]
    depth: int = 0
    at: int = 0
    in_brackets: bool = False
    """Whether it ends at the bracket that closes it."""
    level: int = 0
    words: list[ShellWord] = field(default_factory=list)
    word: list[str] | None = None
    dynamic: bool = False
    quoted: bool = False
    piped: bool = False
    target: str = ""
    """The redirection whose target the next word is."""
    documents: list[_HereDocument] = field(default_factory=list)

    def read(self) -> None:
        """Read to the end, or to the closing bracket."""
        while self.at < len(self.text):
            if self.in_brackets and not self.level and self.text[self.at] == ")":
                break
            self._step(self.text[self.at])
        if self.in_brackets and self.at >= len(self.text):
            raise NotUnderstood("a bracket is not closed")
        self._end_command()

    def _step(self, character: str) -> None:
        if character in " \t":
            self._end_word()
            self.at += 1
        elif character == "\n":
            self._end_command()
            self.at += 1
            self._skip_documents()
        elif character == "#" and self.word is None:
            self.at = self._find("\n", self.at, default=len(self.text))
        elif character in "<>" or self.text.startswith("&>", self.at):
            self._redirect()
        elif character in _OPERATORS:
            self._operator(character)
        else:
            self._part(character, inside=False)

    def _operator(self, character: str) -> None:
        pipes = character == "|" and not self.text.startswith("||", self.at)
        self._end_command()
        self.piped = pipes
        self.level = max(0, self.level + (character == "(") - (character == ")"))
        self.at += 2 if self.text[self.at : self.at + 2] in ("&&", "||", ";;", "|&", ";&") else 1

    def _part(self, character: str, *, inside: bool) -> None:
        """Read one part of a word; `inside` double quotes."""
        if self.word is None:
            self.word = []
        if character == "\\":
            self._escaped(inside=inside)
        elif character == "$":
            self._dollar(inside=inside)
        elif character == "`":
            self._backticks()
        elif character == "'" and not inside:
            end = self._find("'", self.at + 1)
            self.word.append(self.text[self.at + 1 : end])
            self.quoted, self.at = True, end + 1
        elif character == '"' and not inside:
            self._double_quotes()
        else:
            self.dynamic |= not inside and (character in _EXPANDED or self._recalls(character))
            self.word.append(character)
            self.at += 1

    def _recalls(self, character: str) -> bool:
        """Whether an interactive shell may put an earlier line here."""
        following = self.text[self.at + 1 : self.at + 2]
        return (character == "!" and following not in ("", " ", "\t", "\n", "=", "(")) or (character == "^" and not self.word)

    def _escaped(self, *, inside: bool) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        assert self.word is not None
        if inside and following not in '$`"\\\n':
            self.word.append("\\")
        if following != "\n":
            self.word.append(following)
        self.quoted = True
        self.at += 2

    def _double_quotes(self) -> None:
        self.at, self.quoted = self.at + 1, True
        while not self.text.startswith('"', self.at):
            if self.at >= len(self.text):
                raise NotUnderstood("a quote is not closed")
            self._part(self.text[self.at], inside=True)
        self.at += 1

    def _dollar(self, *, inside: bool) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "'" and not inside:
            self._ansi_quotes()
        elif following == '"' and not inside:
            self.at += 1
            self._double_quotes()
        elif following == "(":
            self._substitution("$(")
        elif following == "{":
            self._parameter()
        else:
            self._variable(following)

    def _variable(self, following: str) -> None:
        assert self.word is not None
        self.dynamic |= bool(following) and (following.isalnum() or following in "_@*#?-$!")
        self.word.append("$")
        self.at += 1

    def _substitution(self, opening: str) -> None:
        assert self.word is not None
        reader = _Reader(self.text, self.commands, self._deeper(), self.at + len(opening), in_brackets=True)
        reader.read()
        self.word.append(self.text[self.at : reader.at + 1])
        self.dynamic, self.at = True, reader.at + 1

    def _parameter(self) -> None:
        assert self.word is not None
        end = self._matching_brace(self.at + 1)
        self._expanded(self.text[self.at + 2 : end])
        self.word.append(self.text[self.at : end + 1])
        self.dynamic, self.at = True, end + 1

    def _backticks(self) -> None:
        assert self.word is not None
        end = self.at + 1
        while not self.text.startswith("`", end):
            if end >= len(self.text):
                raise NotUnderstood("a backtick is not closed")
            end += 2 if self.text[end] == "\\" else 1
        self._nested(self.text[self.at + 1 : end].replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\"))
        self.word.append(self.text[self.at : end + 1])
        self.dynamic, self.at = True, end + 1

    def _ansi_quotes(self) -> None:
        assert self.word is not None
        at = self.at + 2
        while not self.text.startswith("'", at):
            if at >= len(self.text):
                raise NotUnderstood("a quote is not closed")
            made, at = _ansi(self.text, at)
            self.word.append(made)
        self.quoted, self.at = True, at + 1

    def _redirect(self) -> None:
        if self.word is not None and not self.quoted and "".join(self.word).isdigit():
            self.word = None  # the number of a descriptor
        self._end_word()
        operator = next(each for each in ("<<<", "<<-", "&>>", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "<", ">") if self._here(each))
        if operator in "<>" and self._here(f"{operator}("):
            self.word = []
            self._substitution(f"{operator}(")
            return
        self.piped |= operator.startswith("<")
        self.target, self.at = operator, self.at + len(operator)

    def _end_word(self) -> None:
        if self.word is None:
            return
        text, self.word = "".join(self.word), None
        if self.target in ("<<", "<<-"):
            self.documents.append(_HereDocument(text, self.quoted, self.target == "<<-"))
        elif not self.target:
            self._add(ShellWord(text, self.dynamic), bare=not self.quoted)
        self.target, self.dynamic, self.quoted = "", False, False

    def _add(self, word: ShellWord, *, bare: bool) -> None:
        if not self.words and bare and word.text in _RESERVED:
            return
        if not self.words and bare and (word.text in _UNREAD or (self.in_brackets and word.text == "case")):
            raise NotUnderstood(f"{word.text!r} is not read here")
        self.words.append(word)

    def _end_command(self) -> None:
        self._end_word()
        assigned = 0
        while assigned < len(self.words) and _is_assignment(self.words[assigned].text):
            assigned += 1
        words, assignments = tuple(self.words[assigned:]), tuple(self.words[:assigned])
        if (words or assignments) and not (words and words[0].text in _HEADS):
            if len(self.commands) >= MAX_COMMANDS:
                raise NotUnderstood(f"a line has more than {MAX_COMMANDS} commands")
            self.commands.append(SimpleCommand(words, assignments, self.piped))
        self.words, self.piped, self.target = [], False, ""

    def _skip_documents(self) -> None:
        """Go over the here-documents that begin on this line. Where they are expanded, commands in them count."""
        for document in self.documents:
            began = self.at
            while True:
                end = self._find("\n", self.at, default=len(self.text))
                line = self.text[self.at : end]
                if (line.lstrip("\t") if document.strips_tabs else line) == document.delimiter or self.at >= len(self.text):
                    break
                self.at = end + 1
            if not document.quoted:
                self._expanded(self.text[began : self.at])
            self.at = min(end + 1, len(self.text))
        self.documents = []

    def _expanded(self, text: str) -> None:
        reader = replace(_Reader(text, self.commands, self._deeper()), word=[])
        while reader.at < len(text):
            reader._part(text[reader.at], inside=True)

    def _nested(self, text: str) -> None:
        _Reader(text, self.commands, self._deeper()).read()

    def _deeper(self) -> int:
        if self.depth >= MAX_DEPTH:
            raise NotUnderstood("its substitutions are too deep")
        return self.depth + 1

    def _matching_brace(self, at: int) -> int:
        """Return where the brace at a position is closed, over quotes and nested braces."""
        level = 0
        while at < len(self.text):
            level += (self.text[at] == "{") - (self.text[at] == "}")
            if level == 0:
                return at
            at = self._over(at)
        raise NotUnderstood("a brace is not closed")

    def _over(self, at: int) -> int:
        if self.text[at] == "\\":
            return at + 2
        if self.text[at] == "'":
            return self._find("'", at + 1) + 1
        if self.text[at] == '"':
            at += 1
            while at < len(self.text) and self.text[at] != '"':
                at += 2 if self.text[at] == "\\" else 1
        return at + 1

    def _here(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def _find(self, text: str, at: int, default: int | None = None) -> int:
        found = self.text.find(text, at)
        if found < 0 and default is None:
            raise NotUnderstood("a quote is not closed")
        return default if found < 0 and default is not None else found


def commands_of(line: str) -> list[SimpleCommand]:
    """Return the simple commands of a line, those in substitutions too. Raises NotUnderstood."""
    if len(line) > MAX_LINE:
        raise NotUnderstood(f"a line has more than {MAX_LINE} characters")
    if "((" in line and "<<" in line and "\n" in line:
        raise NotUnderstood("a shift is not told from a here-document")
    found: list[SimpleCommand] = []
    _Reader(line.replace("\r\n", "\n"), found).read()
    return found


def _is_assignment(text: str) -> bool:
    name, equals, _ = text.partition("=")
    name = name.removesuffix("+").partition("[")[0]
    return bool(equals) and name.isidentifier() and name.isascii()


def _ansi(text: str, at: int) -> tuple[str, int]:
    """Return one character of `$'...'`, and where the next one begins."""
    if text[at] != "\\":
        return text[at], at + 1
    kind = text[at + 1 : at + 2]
    if kind in _DIGITS:
        return _number(text, at + 2, 16, _DIGITS[kind])
    if kind.isdigit():
        return _number(text, at + 1, 8, 3)
    return _ESCAPES.get(kind, kind), at + 2


def _number(text: str, at: int, base: int, most: int) -> tuple[str, int]:
    digits = "0123456789abcdef"[:base]
    end = at
    while end < min(at + most, len(text)) and text[end].lower() in digits:
        end += 1
    number = int(text[at:end] or "0", base)
    return chr(number) if number <= 0x10FFFF else "", max(end, at)
