/** Looking for data by its address, in the brains of the stack. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { CallContext } from '../../tools/target.ts';
import { readBarcode } from '../domain/barcode.ts';
import { documentAt } from './documents.ts';
import { placesOnStack } from './place.ts';

interface Located {
  /** As it is written. */
  readonly barcode: string;
  readonly found: LocatedData | null;
}

interface LocatedData {
  readonly data: unknown;
  readonly brain: string;
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
  /** Names of stored data; a document has a place instead. */
  keys(): Promise<string[]>;
}

/** What was stored as data, else what was remembered as a document and still has that text. */
export async function locate(
  context: CallContext,
  typed: string,
): Promise<Decision<Located, 'E_BARCODE_INVALID' | 'E_ADDRESS_CORRUPT'>> {
  const { addresses } = context.deps;
  const barcode = readBarcode(typed);
  if (barcode === null) return deny('E_BARCODE_INVALID');
  const names = new Map((await placesOnStack(context)).map(({ brain, brainId }) => [brainId, brain]));
  const found = await addresses.find([...names.keys()], barcode);
  if (found === null) return allow({ barcode, found: await remembered(context, barcode, [...names.values()]) });
  if (!found.ok) return found;
  const { brainId, data, storedAt } = found.value;
  const keys = () => addresses.keysOf(brainId, barcode);
  return allow({ barcode, found: { data, storedAt, brain: names.get(brainId) ?? '', keys } });
}

async function remembered(
  context: CallContext,
  barcode: string,
  brains: readonly string[],
): Promise<LocatedData | null> {
  for (const brain of brains) {
    const document = await documentAt(context, barcode, { brain });
    // One brain whose branch is gone hides nothing of the others.
    if (!document.ok || document.value === null) continue;
    const { content, rememberedAt = 0 } = document.value;
    return { data: content, brain, storedAt: rememberedAt, keys: async () => [] };
  }
  return null;
}
