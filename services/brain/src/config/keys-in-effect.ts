/** Which keys of brains are in effect for a call: those of its brain, then those of the default brain. */
import { CallError } from '@svc/contract/codes.ts';
import { type CallContext, resolveTarget, type Target } from '../tools/target.ts';
import { type BrainKey, readBrainKeys } from './domain/brain-keys.ts';
import { readConfigFile } from './operations.ts';

interface KeyInEffect extends BrainKey {
  readonly source: 'brain' | 'global';
}

/** By key, in order. */
export async function keysInEffect(context: CallContext, target: Target): Promise<ReadonlyMap<string, KeyInEffect>> {
  const own = await keysOf(target);
  const shared = await sharedKeys(context, target);
  const keys = new Map<string, KeyInEffect>();
  for (const key of [...new Set([...own.keys(), ...shared.keys()])].sort()) {
    const [ofBrain, ofAll] = [own.get(key), shared.get(key)];
    if (ofBrain !== undefined) keys.set(key, { ...ofBrain, source: 'brain' });
    else if (ofAll !== undefined) keys.set(key, { ...ofAll, source: 'global' });
  }
  return keys;
}

const NONE: ReadonlyMap<string, BrainKey> = new Map();

/** A branch that is gone says nothing. */
async function keysOf({ ask, branch }: Target): Promise<ReadonlyMap<string, BrainKey>> {
  const text = await ask(readConfigFile, { branch });
  return text.ok ? readBrainKeys(text.value) : NONE;
}

/** Those of the default brain, if the caller may see it. */
async function sharedKeys(context: CallContext, { brain }: Target): Promise<ReadonlyMap<string, BrainKey>> {
  const { defaultBrain } = context.deps;
  if (brain === defaultBrain) return NONE;
  try {
    return await keysOf(await resolveTarget(context, { brain: defaultBrain }));
  } catch (error) {
    if (error instanceof CallError && error.code === 'BRAIN_LOAD_FAIL') return NONE;
    throw error;
  }
}
