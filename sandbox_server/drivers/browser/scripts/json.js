// Writes a value as JSON, or says in one word why it has none. What JSON cannot hold becomes null, or what stands for it.
(value, [maxDepth, maxValues]) => {
  const above = [];
  let count = 0;
  const stop = (why) => { throw {why}; };
  const tag = (each) => Object.prototype.toString.call(each).slice(8, -1);
  const named = (each, name) => typeof self[name] === 'function' && each instanceof self[name];
  const method = (each, name) => { try { return typeof each[name] === 'function'; } catch { return false; } };
  const listed = (items) => `[${Array.from(items, write).join(',')}]`;
  const within = (each, make) => {
    if (above.length >= maxDepth || above.includes(each)) stop('deep');
    above.push(each);
    const made = make();
    above.pop();
    return made;
  };
  const date = (each) => (Number.isNaN(each.getTime()) ? new Date(0) : each).toISOString().replace('.000Z', 'Z').replace(/(\.\d{3})Z$/, '$1000Z');
  const fields = (each) => {
    const names = Object.keys(each);
    if (!names.length && method(each, 'toJSON')) return write(each.toJSON());
    const found = [];
    for (const name of names) {
      let field;
      try { field = each[name]; } catch { continue; }
      found.push(`${JSON.stringify(name)}:${name === 'toJSON' && typeof field === 'function' ? '{}' : write(field)}`);
    }
    return `{${found.join(',')}}`;
  };
  const object = (each) => {
    for (const name of ['Window', 'Document', 'Node']) if (named(each, name)) return `"ref: <${name}>"`;
    if (named(each, 'Error') || tag(each) === 'Error') stop('error');
    if (tag(each) === 'Date') return JSON.stringify(date(each));
    if (named(each, 'URL')) return JSON.stringify(each.href);
    if (tag(each) === 'RegExp') return JSON.stringify(each.source);
    if (ArrayBuffer.isView(each) && !(each instanceof DataView)) return within(each, () => listed(each));
    return within(each, () => (Array.isArray(each) ? listed(each) : fields(each)));
  };
  const write = (each) => {
    if (++count > maxValues) stop('many');
    if (typeof each === 'bigint') return each.toString();
    if (Object.is(each, -0)) return '-0.0';
    if (typeof each === 'object' && each !== null) return object(each);
    return typeof each === 'function' ? 'null' : JSON.stringify(each) ?? 'null';
  };
  try { return write(value); } catch (thrown) { if (thrown?.why) return thrown.why; throw thrown; }
}
