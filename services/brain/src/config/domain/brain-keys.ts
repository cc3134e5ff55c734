/** Keys of a brain's own, as its `config.json` holds them: an object from keys to values, which people edit too. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { isReservedSetting, isSecretSetting, isSettingKey, MAX_VALUE_BYTES } from '@svc/contract/settings.ts';

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

/** The file with another value under the key, null = with none; what else stands there stays. */
export function withBrainKey(
  text: string | null,
  key: string,
  value: unknown,
): Decision<{ readonly text: string; readonly changed: boolean }, 'E_CONFIG_FILE'> {
  const content = text === null || text.trim() === '' ? {} : contentOf(text);
  if (content === null) return deny('E_CONFIG_FILE', { file: CONFIG_FILE });
  const before = Object.hasOwn(content, key) ? content[key] : null;
  const others = Object.entries(content).filter(([other]) => other !== key);
  const entries = value === null ? others : [...others, [key, value] as const];
  try {
    if (JSON.stringify(before) === JSON.stringify(value)) return allow({ text: text ?? '', changed: false });
    const written = `${JSON.stringify(Object.fromEntries(entries), null, INDENT)}\n`;
    if (Buffer.byteLength(written) <= MAX_FILE_BYTES) return allow({ text: written, changed: true });
  } catch {
    // nested deeper than can be written again
  }
  return deny('E_CONFIG_FILE', { file: CONFIG_FILE });
}
