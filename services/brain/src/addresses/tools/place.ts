/** Which brain's addresses a call is about. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { identify, identifyToChange } from '../../operations/standing.ts';
import { type CallContext, requireWriter, resolveReads, resolveTarget, type TargetWish } from '../../tools/target.ts';
import { OBJECT_LIMITS, type ObjectPlace } from '../address-store.ts';
import { type Addressed, addressOf } from '../domain/address.ts';

export const barcodeArgument = z
  .string()
  .min(1)
  .max(100)
  .describe('As it was answered, or as somebody typed it: lower case, without dashes, O for 0, I or L for 1.');

/** Throws UNAUTHORIZED, FORBIDDEN, BRAIN_LOAD_FAIL, RLS_DENIED. */
export async function placeToStore(context: CallContext, wish: TargetWish): Promise<ObjectPlace> {
  requireWriter(context.caller);
  const { ask, brain } = await resolveTarget(context, wish);
  const { id: brainId } = await ask(identifyToChange, {});
  return { brain, brainId };
}

/** Throws BRAIN_LOAD_FAIL. */
export async function placeToRead(context: CallContext, wish: TargetWish): Promise<ObjectPlace> {
  const { ask, brain } = await resolveTarget(context, wish);
  const { id: brainId } = await ask(identify, {});
  return { brain, brainId };
}

/** The brains of the stack that the caller may see, from the top. */
export async function placesOnStack(context: CallContext): Promise<ObjectPlace[]> {
  const targets = await resolveReads(context, {});
  const places = targets.map(async ({ ask, brain }) => {
    try {
      return { brain, brainId: (await ask(identify, {})).id };
    } catch (error) {
      if (error instanceof CallError && error.code === 'BRAIN_LOAD_FAIL') return null;
      throw error;
    }
  });
  return (await Promise.all(places)).filter((place) => place !== null);
}

/** Throws VAF_INPUT_INVALID when it is too long to be kept. */
export function addressedData({ deps }: CallContext, data: unknown): Addressed {
  const addressed = addressOf(data, deps.addresses.digest);
  if (addressed.bytes > OBJECT_LIMITS.bytes)
    throw invalidArguments([{ path: 'data', message: 'must be at most 256 KiB as canonical JSON' }]);
  return addressed;
}
