/**
 * What is in a fresh context before anything else runs there. It keeps its own hold of all that it uses, because what
 * comes after it may replace every global. Nothing of the host is in its reach: it only makes texts.
 */
export const GUEST = `(function (outputLimit, consoleLimit) {
  'use strict';
  const { stringify, parse } = JSON;
  const { create, defineProperty } = Object;
  const text = String;
  const bare = create;
  let logs = '';
  function shown(value) {
    if (typeof value === 'string') return value;
    if (typeof value === 'function') return '[function]';
    if (typeof value !== 'object' || value === null) return text(value);
    try {
      const json = stringify(value);
      return typeof json === 'string' ? json : '[object]';
    } catch (error) {
      return '[object]';
    }
  }
  function log(...values) {
    let line = '';
    for (let at = 0; at < values.length; at += 1) line += (at > 0 ? ' ' : '') + shown(values[at]);
    if (logs.length + line.length < consoleLimit) logs += line + '\\n';
  }
  defineProperty(globalThis, 'console', {
    value: { log, info: log, warn: log, error: log, debug: log },
    writable: true, configurable: true, enumerable: false,
  });
  function part(error, key) {
    try {
      const value = error[key];
      return typeof value === 'string' ? value : '';
    } catch (inside) {
      return '';
    }
  }
  const guest = bare(null);
  guest.told = function (value) {
    const told = bare(null);
    let isWhole = true;
    const result = stringify(value, (key, one) => {
      if (typeof one === 'number' && one - one !== 0) isWhole = false;
      return one;
    });
    told.kind = 'value';
    told.tooLarge = typeof result === 'string' && result.length > outputLimit;
    if (typeof result === 'string' && !told.tooLarge && isWhole) told.result = result;
    told.logs = logs;
    return stringify(told);
  };
  guest.thrown = function (error) {
    const told = bare(null);
    const isObject = (typeof error === 'object' && error !== null) || typeof error === 'function';
    told.kind = 'thrown';
    told.name = isObject ? part(error, 'name') || 'Error' : 'Error';
    told.message = isObject ? part(error, 'message') : shown(error);
    told.stack = isObject ? part(error, 'stack') : '';
    if (told.message.length > 2000) told.message = '';
    if (told.name.length > 200) told.name = 'Error';
    if (told.stack.length > 20000) told.stack = '';
    return stringify(told);
  };
  guest.call = function (callee, json) {
    return callee(...parse(json));
  };
  return guest;
})`;
