/** A policy as callers write it: what is left out is as in the default policy. */
import type { z } from 'zod';
import { DEFAULT_POLICY, Policy } from '@svc/contract/policy.ts';
import { isKnownFilter, isKnownMask } from '@svc/contract/transform.ts';

export const PolicyWish = Policy.partial().superRefine(({ filter = [], mask = [] }, context) => {
  if (!isKnownFilter(filter)) context.addIssue({ code: 'custom', path: ['filter'], message: 'no such transform' });
  if (!isKnownMask(mask)) context.addIssue({ code: 'custom', path: ['mask'], message: 'no such transform' });
});
export type PolicyWish = z.output<typeof PolicyWish>;

export function wholePolicy(wish: PolicyWish): Policy {
  return {
    readableBy: wish.readableBy ?? DEFAULT_POLICY.readableBy,
    writableBy: wish.writableBy ?? DEFAULT_POLICY.writableBy,
    container: wish.container ?? DEFAULT_POLICY.container,
    filter: wish.filter ?? DEFAULT_POLICY.filter,
    mask: wish.mask ?? DEFAULT_POLICY.mask,
  };
}
