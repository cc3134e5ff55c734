/** The row rules as SQL: admits exactly what `decide` of the contract admits, for lists that are filtered in the database. */
import { DEFAULT_POLICY } from '@svc/contract/policy.ts';

/** SQL expressions; `container` and `rules` are null where no policy is attached. */
export interface PredicateParts {
  readonly container: string;
  /** text[]: `readable_by` or `writable_by`. */
  readonly rules: string;
  /** text[]: `keysOf` the subject. */
  readonly keys: string;
  /** text: workspace of the subject, or null. */
  readonly workspace: string;
}

export function policyPredicate(
  { container, rules, keys, workspace }: PredicateParts,
  mode: 'readableBy' | 'writableBy',
): string {
  const where = `coalesce(${container}, '${DEFAULT_POLICY.container}')`;
  const fallback = `ARRAY[${DEFAULT_POLICY[mode].map((rule) => `'${rule}'`).join(', ')}]::text[]`;
  const list = `coalesce(${rules}, ${fallback})`;
  return `(${workspace} IS NULL OR ${where} IN (${workspace}, 'public')) AND (cardinality(${list}) = 0 OR ${list} && ${keys})`;
}
