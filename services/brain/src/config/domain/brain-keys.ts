/** Keys of a brain's own, as its `config.json` holds them: an object from keys to values, which people edit too. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { isReservedSetting, isSecretSetting, isSettingKey, MAX_VALUE_BYTES } from '@svc/contract/settings.ts';
import { JsonMembers } from '../../domain/json-text.ts';

export const CONFIG_FILE = 'config.json';
export const MASKED = '[masked]';
/** Beyond that a file is no configuration. */
const MAX_FILE_BYTES = 256 * 1024;
const INDENT = 2;

export interface BrainKey {
  readonly value: unknown;
  /** It is a secret, which a person wrote there: what it says is not told. */
  readonly masked: boolean;
}

/** Settings of the node that stand in the file count for nothing, nor does what is no key or is too large. */
export function readBrainKeys(text: string | null): ReadonlyMap<string, BrainKey> {
  const keys = new Map<string, BrainKey>();
  for (const [key, value] of Object.entries(contentOf(text) ?? {})) {
    if (!isBrainKey(key) || value === null || !fits(value)) continue;
    const masked = isSecretSetting(key);
    keys.set(key, { value: masked ? MASKED : value, masked });
  }
  return keys;
}

export function isBrainKey(key: string): boolean {
  return isSettingKey(key) && !isReservedSetting(key);
}

/** Null = no text, or one that is no object of values. */
function contentOf(text: string | null): Readonly<Record<string, unknown>> | null {
  if (text === null || Buffer.byteLength(text) > MAX_FILE_BYTES) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? (parsed as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** A value can be nested deeper than JSON can be written again. */
function fits(value: unknown): boolean {
  try {
    return Buffer.byteLength(JSON.stringify(value)) <= MAX_VALUE_BYTES;
  } catch {
    return false;
  }
}

/** The file with another value under the key, null = with none; what else stands there stays byte for byte. */
export function withBrainKey(
  text: string | null,
  key: string,
  value: unknown,
): Decision<{ readonly text: string; readonly changed: boolean }, 'E_CONFIG_FILE'> {
  const isNew = text === null || text.trim() === '';
  const content = isNew ? {} : contentOf(text);
  if (content === null) return deny('E_CONFIG_FILE', { file: CONFIG_FILE });
  const before = Object.hasOwn(content, key) ? content[key] : null;
  try {
    if (JSON.stringify(before) === JSON.stringify(value)) return allow({ text: text ?? '', changed: false });
    const written = isNew ? `{\n  ${entryOf(key, value, '\n')}\n}\n` : edited(text, key, value);
    if (Buffer.byteLength(written) <= MAX_FILE_BYTES) return allow({ text: written, changed: true });
  } catch {
    // nested deeper than can be written again
  }
  return deny('E_CONFIG_FILE', { file: CONFIG_FILE });
}

/** `text` is an object. Of a repeated key the last counts. */
function edited(text: string, key: string, value: unknown): string {
  const members = new JsonMembers(text, text.indexOf('{'));
  if (value === null) return without(members, key);
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const present = members.lastOf(key);
  if (present !== null)
    return `${text.slice(0, members.valueStart(present))}${valueOf(value, lineEnd)}${text.slice(members.valueEnd(present))}`;
  const entry = entryOf(key, value, lineEnd);
  const { opener, count } = members;
  if (count === 0) return `${text.slice(0, opener + 1)}${entry}${text.slice(opener + 1)}`;
  const margin = text.slice(opener + 1, members.keyStart(0));
  const end = members.valueEnd(count - 1);
  return `${text.slice(0, end)},${margin === '' ? ' ' : margin}${entry}${text.slice(end)}`;
}

/** Each member takes along what separates it from the one before it. */
function without(members: JsonMembers, key: string): string {
  const { text, opener, count, end } = members;
  const kept = Array.from({ length: count }, (_, place) => place).filter((place) => members.name(place) !== key);
  if (kept.length === 0) return `${text.slice(0, opener + 1)}${text.slice(end - 1)}`;
  const texts = kept.map((place, index) =>
    text.slice(index === 0 ? members.keyStart(place) : members.valueEnd(place - 1), members.valueEnd(place)),
  );
  return `${text.slice(0, members.keyStart(0))}${texts.join('')}${text.slice(members.valueEnd(count - 1))}`;
}

const entryOf = (key: string, value: unknown, lineEnd: string): string =>
  `${JSON.stringify(key)}: ${valueOf(value, lineEnd)}`;

function valueOf(value: unknown, lineEnd: string): string {
  return JSON.stringify(value, null, INDENT).replaceAll('\n', `${lineEnd}${' '.repeat(INDENT)}`);
}
