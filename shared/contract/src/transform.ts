/** What a policy hides of a row: fields removed (`filter`), then fields shown as `[masked]` (`mask`). */
import { z } from 'zod';

export const MASKED = '[masked]';

type Fields = Record<string, unknown>;
type FieldTest = (name: string, value: unknown) => boolean;

const SECRET_NAME = /password|secret|token|key|authorization|cookie/i;

/** Names of fields that hold secrets: hidden by the `secrets` transforms and never written to an audit entry. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** `<text>@<text>.<text>` without blanks. Linear: the value may be as long as a file. */
function isAddress(value: string): boolean {
  const at = value.indexOf('@');
  if (at < 1 || value.includes('@', at + 1) || /\s/.test(value)) return false;
  const dot = value.indexOf('.', at + 2);
  return dot !== -1 && dot < value.length - 1;
}

const FILTERS: Readonly<Record<string, FieldTest>> = {
  private: (name) => name.startsWith('_'),
  secrets: isSecretName,
  nested: (_name, value) => typeof value === 'object' && value !== null,
};
const MASKS: Readonly<Record<string, FieldTest>> = {
  secrets: isSecretName,
  email: (_name, value) => typeof value === 'string' && isAddress(value),
  all: () => true,
};

/** Field names (exact, else a dotted path), or the name of a registered function. */
export const Transform = z.union([
  z.array(z.string().min(1).max(128)).max(64),
  z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be the name of a transform'),
]);
export type Transform = z.output<typeof Transform>;

export interface Transforms {
  readonly filter: readonly string[] | string;
  readonly mask: readonly string[] | string;
}

export function isKnownFilter(transform: Transforms['filter']): boolean {
  return typeof transform !== 'string' || Object.hasOwn(FILTERS, transform);
}

export function isKnownMask(transform: Transforms['mask']): boolean {
  return typeof transform !== 'string' || Object.hasOwn(MASKS, transform);
}

/** True when rows pass unchanged. */
export function hidesNothing({ filter, mask }: Transforms): boolean {
  return filter.length === 0 && mask.length === 0;
}

/**
 * A copy of an object, or of each object of an array, with its fields hidden; anything else unchanged.
 * Null when a transform is not known here: then nothing may be shown.
 */
export function applyTransforms({ filter, mask }: Transforms, data: unknown): { readonly data: unknown } | null {
  const steps = hidingSteps({ filter, mask });
  if (steps === null) return null;
  const shown = (row: unknown): unknown => (isFields(row) ? steps.reduce(applyStep, row) : row);
  return { data: Array.isArray(data) ? data.map(shown) : shown(data) };
}

/** What hides fields of a row: those that its paths name, or of which its test says so. */
export type HidingStep = { readonly hides: 'removed' | 'masked' } & (
  | { readonly paths: readonly string[] }
  | { readonly test: FieldTest }
);

/** In the order in which they act on a row; null when a transform is not known here. */
export function hidingSteps({ filter, mask }: Transforms): readonly HidingStep[] | null {
  const steps = [stepOf('removed', filter, FILTERS), stepOf('masked', mask, MASKS)];
  return steps.every((step) => step !== null) ? steps : null;
}

function stepOf(
  hides: HidingStep['hides'],
  transform: readonly string[] | string,
  registered: Readonly<Record<string, FieldTest>>,
): HidingStep | null {
  if (typeof transform !== 'string') return { hides, paths: transform };
  const test = Object.hasOwn(registered, transform) ? registered[transform] : undefined;
  return test === undefined ? null : { hides, test };
}

type Hide = (row: Fields, name: string) => void;

const HIDE: Readonly<Record<HidingStep['hides'], Hide>> = {
  removed(row, name) {
    delete row[name];
  },
  masked(row, name) {
    row[name] = MASKED;
  },
};

/** Copies whatever it changes. */
function applyStep(row: Fields, step: HidingStep): Fields {
  const hide = HIDE[step.hides];
  if ('paths' in step) {
    const copies = new Set<Fields>();
    return step.paths.reduce((shown, path) => hidePath(shown, path, hide, copies), row);
  }
  const copy = copyOf(row);
  for (const [name, value] of Object.entries(row)) if (step.test(name, value)) hide(copy, name);
  return copy;
}

/** `copies`: objects made here before, which may be changed; so that many paths copy a wide object once. */
function hidePath(row: Fields, path: string, hide: Hide, copies: Set<Fields>): Fields {
  if (Object.hasOwn(row, path)) {
    const copy = ownCopy(row, copies);
    hide(copy, path);
    return copy;
  }
  const dot = path.indexOf('.');
  if (dot === -1) return row;
  const parent = path.slice(0, dot);
  const inner = Object.hasOwn(row, parent) ? row[parent] : undefined;
  if (!isFields(inner)) return row;
  const shown = hidePath(inner, path.slice(dot + 1), hide, copies);
  return shown === inner ? row : Object.assign(ownCopy(row, copies), { [parent]: shown });
}

function ownCopy(row: Fields, copies: Set<Fields>): Fields {
  if (copies.has(row)) return row;
  const copy = copyOf(row);
  copies.add(copy);
  return copy;
}

/** Own properties only; a field named `__proto__` stays a field. */
function copyOf(row: Fields): Fields {
  return Object.fromEntries(Object.entries(row));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
