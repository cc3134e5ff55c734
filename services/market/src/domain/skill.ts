/** What may be sold as a skill: any data, but nothing that is made to start something. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

const LAUNCH_KINDS: readonly string[] = [
  'launch',
  'launcher',
  'exec',
  'executable',
  'script',
  'shell',
  'binary',
  'installer',
  'autorun',
];
const LAUNCH_KEYS: readonly string[] = ['launch', 'exec', 'command', 'autorun'];
export const MAX_PAYLOAD_BYTES = 65_536;

/** Whether a listing offers something that is made to start something. */
export function isLaunch(payloadKind: string, context: Readonly<Record<string, unknown>> = {}): boolean {
  return LAUNCH_KINDS.includes(payloadKind.toLowerCase()) || Object.hasOwn(context, 'launch');
}

/** The canonical text of what is delivered. */
export function decidePayload(
  payload: unknown,
): Decision<{ readonly text: string; readonly bytes: number }, 'E_SKILL_PAYLOAD' | 'E_SKILL_LAUNCH'> {
  const text = canonicalJson(payload);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > MAX_PAYLOAD_BYTES) return deny('E_SKILL_PAYLOAD', { bytes, limit: MAX_PAYLOAD_BYTES });
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
  const starts = isObject && LAUNCH_KEYS.some((key) => Object.hasOwn(payload, key));
  return starts ? deny('E_SKILL_LAUNCH') : allow({ text, bytes });
}
