/** Remembered files, as one caller finds them by the address of their text. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { ReadRefusal } from '../../brain/open-brain.ts';
import { type FileView, readFile as readOf } from '../../operations/files.ts';
import { identify } from '../../operations/standing.ts';
import { type CallContext, resolveReads, type Target } from '../../tools/target.ts';
import { addressOf } from '../domain/address.ts';
import type { RememberedFile } from '../place-rows.ts';

export interface Document {
  readonly file: string;
  readonly content: string;
  readonly brain: string;
  /** Milliseconds since the epoch; absent where it was found by its place. */
  readonly rememberedAt?: number;
}

export interface DocumentWish {
  readonly brain?: string | undefined;
  readonly branch?: string | undefined;
  readonly at?: string | undefined;
}

/** The first that is there, with that text now, in the brains that are meant. */
export async function documentAt(
  context: CallContext,
  barcode: string,
  wish: DocumentWish,
): Promise<Decision<Document | null, ReadRefusal>> {
  for (const target of await resolveReads(context, wish)) {
    for (const { path, at } of await documentsOf(context, target, { barcode })) {
      const view = await viewOf(target, path, wish.at ?? null);
      if (!view.ok) return view;
      if (view.value !== null && addressOf(view.value.content).barcode === barcode)
        return allow({ ...view.value, brain: target.brain, rememberedAt: at });
    }
  }
  return allow(null);
}

/** Files that were remembered so; what they hold now is for `viewOf` to say. */
export async function documentsOf(
  { deps }: CallContext,
  { ask }: Target,
  by: { readonly key: string } | { readonly barcode: string },
): Promise<RememberedFile[]> {
  const { id } = await ask(identify, {});
  return deps.addresses.places(id, by);
}

/** Null of a file that is gone, that is no text any more, or that the caller may not read. */
export async function viewOf(
  { ask, branch }: Target,
  path: string,
  at: string | null,
): Promise<Decision<FileView | null, ReadRefusal>> {
  return orNone(await ask(readOf, { branch, path, at }));
}

/** The same, where a file that is not there, or is no text, is none. */
export function orNone<Value>(
  read: Decision<Value, ReadRefusal | 'E_FILE_ABSENT' | 'E_NOT_TEXT'>,
): Decision<Value | null, ReadRefusal> {
  if (read.ok) return read;
  const { code, details } = read;
  return code === 'E_FILE_ABSENT' || code === 'E_NOT_TEXT' ? allow(null) : deny(code, details);
}
