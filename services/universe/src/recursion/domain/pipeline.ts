/** What is done to each item of a batch without any tool. */
import { hash } from 'node:crypto';
import { canonicalOf } from '@svc/contract/canonical.ts';

export const BATCH_OPERATIONS = ['identity', 'length', 'upper', 'lower', 'double', 'json', 'sha256', 'type'] as const;
export type BatchOperation = (typeof BATCH_OPERATIONS)[number];

export type Applied = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: string };

const done = (value: unknown): Applied => ({ ok: true, value });
const wrong = (error: string): Applied => ({ ok: false, error });

const operations: Record<BatchOperation, (item: unknown) => Applied> = {
  identity: done,
  length(item) {
    if (typeof item === 'string' || Array.isArray(item)) return done(item.length);
    return typeof item === 'object' && item !== null ? done(Object.keys(item).length) : wrong('has no length');
  },
  upper: (item) => (typeof item === 'string' ? done(item.toUpperCase()) : wrong('is no text')),
  lower: (item) => (typeof item === 'string' ? done(item.toLowerCase()) : wrong('is no text')),
  double(item) {
    if (typeof item !== 'number') return wrong('is no number');
    return Number.isFinite(item * 2) ? done(item * 2) : wrong('is too large');
  },
  json: canonical((text) => text),
  sha256(item) {
    if (typeof item === 'string' && item.isWellFormed()) return done(hash('sha256', item, 'hex'));
    return canonical((text) => hash('sha256', text, 'hex'))(item);
  },
  type: (item) => done(item === null ? 'null' : Array.isArray(item) ? 'array' : typeof item),
};

function canonical(made: (text: string) => string): (item: unknown) => Applied {
  return (item) => {
    const text = canonicalOf(item);
    return text === null ? wrong('has no canonical form') : done(made(text));
  };
}

/** One after the other; what goes wrong ends it. */
export function applyAll(steps: readonly BatchOperation[], item: unknown): Applied {
  let applied = done(item);
  for (const step of steps) {
    if (!applied.ok) return applied;
    applied = operations[step](applied.value);
  }
  return applied;
}

export function isBatchOperation(name: string): name is BatchOperation {
  return (BATCH_OPERATIONS as readonly string[]).includes(name);
}
