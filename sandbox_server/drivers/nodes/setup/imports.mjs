// Makes code that imports as a module does run in a session, whose code is no module: `import a from 'b'` becomes an awaited import.

const SPACE = /\s+|\/\/[^\n]*|\/\*[^]*?\*\//y;
const TEXT = /"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'/y;
const WORD = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*|\d[\w.]*/uy;
const PATTERN = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y;
const STATEMENT =
  /import\s*(?:(?<clause>[^'"();]*?)\s*\bfrom\s*)?(?<from>"[^"\n]*"|'[^'\n]*')(?:\s*with\s*(?<attributes>\{[^}]*\}))?\s*;?/y;
const EXPORT = /export\s+(?:default\s+)?(?=[^\s{*])/y;
// After these a slash begins a regular expression; after anything else that ends a value, it divides.
const BEFORE_PATTERN = new Set(['return', 'typeof', 'case', 'in', 'of', 'delete', 'void', 'throw', 'new', 'else', 'do', 'await', 'yield']);

/**
 * @param {string} code of a script or a module
 * @param {string} importer name of the function that imports, in the session
 * @returns {string} the same as a script
 */
export function asScript(code, importer) {
  return new Scanner(code, importer).rewritten();
}

class Scanner {
  #code; #importer; #at = 0; #out = ''; #last = ''; #depth = 0;

  constructor(code, importer) {
    this.#code = code;
    this.#importer = importer;
  }

  rewritten() {
    while (this.#at < this.#code.length) this.#step();
    return this.#out;
  }

  #step() {
    if (this.#copy(SPACE, false) || this.#copy(TEXT)) return;
    const next = this.#code[this.#at];
    if (next === '`') this.#template();
    else if (next === '/' && !this.#endsValue() && this.#copy(PATTERN)) return;
    else if (!this.#word()) this.#symbol(next);
  }

  #word() {
    const word = this.#match(WORD)?.[0];
    if (!word) return false;
    if (word === 'import' && this.#last !== '.') this.#import();
    else if (word === 'export' && this.#depth === 0 && this.#last !== '.' && this.#match(EXPORT)) this.#at += this.#match(EXPORT)[0].length;
    else this.#take(word);
    return true;
  }

  #import() {
    const after = this.#code.slice(this.#at + 6).replace(/^(?:\s|\/\*[^]*?\*\/)+/, '')[0];
    const statement = after === '(' || after === '.' ? null : this.#match(STATEMENT);
    if (!statement) {
      this.#out += this.#importer;
      this.#last = 'import';
      this.#at += 6;
      return;
    }
    this.#out += awaited(statement.groups, this.#importer);
    this.#last = ';';
    this.#at += statement[0].length;
  }

  #symbol(next) {
    if (next === '{' || next === '(' || next === '[') this.#depth += 1;
    if (next === '}' || next === ')' || next === ']') this.#depth -= 1;
    this.#take(next);
  }

  #template() {
    this.#take('`');
    while (this.#at < this.#code.length) {
      const next = this.#code[this.#at];
      if (next === '\\') this.#take(this.#code.slice(this.#at, this.#at + 2));
      else if (next === '$' && this.#code[this.#at + 1] === '{') this.#hole();
      else if (this.#take(next) === '`') return;
    }
  }

  #hole() {
    this.#take('${');
    const depth = this.#depth;
    this.#depth += 1;
    while (this.#at < this.#code.length && this.#depth > depth) this.#step();
  }

  #endsValue() {
    return /[\p{ID_Continue}$)\]}"'`]$/u.test(this.#last) && !BEFORE_PATTERN.has(this.#last);
  }

  #match(pattern) {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#code);
  }

  #copy(pattern, counts = true) {
    const found = this.#match(pattern)?.[0];
    if (!found) return false;
    const last = this.#last;
    this.#take(found);
    if (!counts) this.#last = last;
    return true;
  }

  #take(text) {
    this.#out += text;
    this.#at += text.length;
    this.#last = text;
    return text;
  }
}

/** The statement that does what `import clause from from` does. */
function awaited({ clause, from, attributes }, importer) {
  const call = `await ${importer}(${from}${attributes ? `, {with: ${attributes}}` : ''})`;
  if (!clause) return `${call};`;
  const names = [];
  const all = /\*\s*as\s+([\p{ID_Continue}$]+)/u.exec(clause)?.[1];
  const some = /\{([^]*)\}/.exec(clause)?.[1] ?? '';
  const usual = /^\s*([\p{ID_Start}$_][\p{ID_Continue}$]*)/u.exec(clause)?.[1];
  if (usual) names.push(`default: ${usual}`);
  for (const part of some.split(',').map((each) => each.trim()).filter(Boolean)) names.push(part.replace(/\s+as\s+/, ': '));
  const picked = names.length ? `const {${names.join(', ')}} = ` : '';
  if (!all) return `${picked}${call};`;
  return `const ${all} = ${call};${picked ? `${picked}${all};` : ''}`;
}
