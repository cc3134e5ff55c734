/** Looking for data by its address, in the brains of the stack. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { CallContext } from '../../tools/target.ts';
import type { Found } from '../address-store.ts';
import { readBarcode } from '../domain/barcode.ts';
import { placesOnStack } from './place.ts';

interface Located {
  /** As it is written. */
  readonly barcode: string;
  readonly found: (Found & { readonly brain: string }) | null;
}

export async function locate(
  context: CallContext,
  typed: string,
): Promise<Decision<Located, 'E_BARCODE_INVALID' | 'E_ADDRESS_CORRUPT'>> {
  const barcode = readBarcode(typed);
  if (barcode === null) return deny('E_BARCODE_INVALID');
  const names = new Map((await placesOnStack(context)).map(({ brain, brainId }) => [brainId, brain]));
  const found = await context.deps.addresses.find([...names.keys()], barcode);
  if (found === null) return allow({ barcode, found: null });
  if (!found.ok) return found;
  return allow({ barcode, found: { ...found.value, brain: names.get(found.value.brainId) ?? '' } });
}
