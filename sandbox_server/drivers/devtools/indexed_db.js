// All databases of an origin as JSON, and back: in the form of Playwright's storage state, values that JSON has not in its encoding.
(() => {
  const MAX_LENGTH = 32 << 20;
  const KINDS = {
    i8: Int8Array, ui8: Uint8Array, ui8c: Uint8ClampedArray, i16: Int16Array, ui16: Uint16Array, i32: Int32Array, ui32: Uint32Array,
    f32: Float32Array, f64: Float64Array, bi64: BigInt64Array, bui64: BigUint64Array,
  };
  const ODD = new Map([[undefined, 'undefined'], [null, 'null'], [NaN, 'NaN'], [Infinity, 'Infinity'], [-Infinity, '-Infinity']]);

  const base64 = bytes => {
    let text = '';
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text);
  };
  const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

  const isPlain = value => [Object.prototype, null].includes(Object.getPrototypeOf(value));
  const isJson = (value, above = []) => {
    if (value === null || typeof value === 'boolean' || typeof value === 'string') return true;
    if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
    if (typeof value !== 'object' || above.includes(value)) return false;
    if (!Array.isArray(value) && !isPlain(value)) return false;
    return Object.values(value).every(each => isJson(each, [...above, value]));
  };

  const encode = (value, seen = new Map()) => {
    if (ODD.has(value)) return {v: ODD.get(value)};
    if (Object.is(value, -0)) return {v: '-0'};
    if (typeof value === 'bigint') return {bi: value.toString()};
    if (typeof value !== 'object') return value;
    if (seen.has(value)) return {ref: seen.get(value)};
    if (value instanceof Date) return {d: value.toJSON()};
    if (value instanceof RegExp) return {r: {p: value.source, f: value.flags}};
    if (value instanceof ArrayBuffer) return {ab: {b: base64(new Uint8Array(value))}};
    const kind = Object.keys(KINDS).find(name => value instanceof KINDS[name]);
    if (kind) return {ta: {b: base64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)), k: kind}};
    const id = seen.size + 1;
    seen.set(value, id);
    if (Array.isArray(value)) return {a: value.map(each => encode(each, seen)), id};
    if (!isPlain(value)) throw new TypeError(`a ${value.constructor.name} has no form in JSON`);
    return {o: Object.keys(value).map(name => ({k: name, v: encode(value[name], seen)})), id};
  };

  const decode = (value, seen = new Map()) => {
    if (typeof value !== 'object' || value === null) return value;
    if ('v' in value) return value.v === '-0' ? -0 : [...ODD.keys()].find(each => ODD.get(each) === value.v);
    if ('ref' in value) return seen.get(value.ref);
    if ('bi' in value) return BigInt(value.bi);
    if ('d' in value) return new Date(value.d);
    if ('r' in value) return new RegExp(value.r.p, value.r.f);
    if ('ab' in value) return bytesOf(value.ab.b).buffer;
    if ('ta' in value) return new KINDS[value.ta.k](bytesOf(value.ta.b).buffer);
    const made = 'a' in value ? [] : {};
    seen.set(value.id, made);
    if ('a' in value) made.push(...value.a.map(each => decode(each, seen)));
    else for (const {k, v} of value.o) Object.defineProperty(made, k, {value: decode(v, seen), enumerable: true, writable: true});
    return made;
  };

  const either = (name, value) => isJson(value) ? {[name]: value} : {[`${name}Encoded`]: encode(value)};
  const back = (name, record) => `${name}Encoded` in record ? decode(record[`${name}Encoded`]) : record[name];
  const keyPath = path => path === null ? {} : Array.isArray(path) ? {keyPathArray: path} : {keyPath: path};
  const pathOf = each => each.keyPathArray ?? each.keyPath ?? null;
  const done = request => new Promise((resolve, reject) => {
    request.onsuccess = request.oncomplete = () => resolve(request.result);
    request.onerror = request.onabort = () => reject(request.error);
    request.onblocked = () => reject(new Error('a page that is open keeps the database from being changed'));
  });

  const readStore = async (store, left) => {
    const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
    const records = values.flatMap((value, index) => {
      try {
        return [{...(store.keyPath === null ? either('key', keys[index]) : {}), ...either('value', value)}];
      } catch (error) {
        left.push(error.message);
        return [];
      }
    });
    const indexes = [...store.indexNames].map(name => store.index(name)).map(
      index => ({name: index.name, ...keyPath(index.keyPath), multiEntry: index.multiEntry, unique: index.unique}));
    return {name: store.name, ...keyPath(store.keyPath), autoIncrement: store.autoIncrement, indexes, records};
  };

  const read = async () => {
    const left = [], databases = [];
    for (const {name} of await indexedDB.databases()) {
      const database = await done(indexedDB.open(name));
      const names = [...database.objectStoreNames];
      const reading = names.length ? database.transaction(names) : null;
      const stores = await Promise.all(names.map(each => readStore(reading.objectStore(each), left)));
      databases.push({name, version: database.version, stores});
      database.close();
    }
    const text = JSON.stringify({databases, left: left.length});
    if (text.length > MAX_LENGTH) throw new Error(`its databases have more than ${MAX_LENGTH} characters`);
    return text;
  };

  const makeStores = (database, stores) => {
    for (const each of stores.filter(({name}) => !database.objectStoreNames.contains(name))) {
      const store = database.createObjectStore(each.name, {keyPath: pathOf(each), autoIncrement: each.autoIncrement});
      for (const index of each.indexes ?? []) {
        store.createIndex(index.name, pathOf(index), {multiEntry: index.multiEntry, unique: index.unique});
      }
    }
  };

  const write = async databases => {
    for (const {name, version, stores} of databases) {
      const known = (await indexedDB.databases()).find(each => each.name === name);
      const opening = indexedDB.open(name, Math.max(version, known?.version ?? 0));
      opening.onupgradeneeded = () => makeStores(opening.result, stores);
      const database = await done(opening);
      const there = stores.filter(each => database.objectStoreNames.contains(each.name));
      if (there.length) {
        const writing = database.transaction(there.map(each => each.name), 'readwrite');
        for (const each of there) {
          const store = writing.objectStore(each.name);
          for (const record of each.records) {
            store.put(back('value', record), ...(store.keyPath === null ? [back('key', record)] : []));
          }
        }
        await done(writing);
      }
      database.close();
    }
  };

  return {read, write};
})()
