/** Row rules as pure functions: container isolation first, then the rules, with the reason of each decision. */
import type { Subject } from './subject.ts';

export interface Policy {
  readonly readableBy: readonly string[];
  readonly writableBy: readonly string[];
  readonly container: string;
  readonly filter: readonly string[];
  readonly mask: readonly string[];
}

export type PolicyMode = 'read' | 'write';

export interface Verdict {
  readonly allowed: boolean;
  /** The rule that admitted, or why nothing did. */
  readonly because: string;
}

export const DEFAULT_POLICY: Policy = {
  readableBy: ['public'],
  writableBy: ['role:admin'],
  container: 'default',
  filter: [],
  mask: [],
};

export const MASKED = '[masked]';

/** `public` containers are open to every workspace; otherwise the subject's workspace must be the container. */
export function containerAdmits(policy: Policy, subject: Subject): boolean {
  return policy.container === 'public' || subject.workspace === undefined || subject.workspace === policy.container;
}

export function evaluatePolicy(policy: Policy, subject: Subject, mode: PolicyMode): Verdict {
  if (!containerAdmits(policy, subject)) return { allowed: false, because: `container:${policy.container}` };
  const rules = mode === 'read' ? policy.readableBy : policy.writableBy;
  if (rules.length === 0) return { allowed: true, because: 'no rules' };
  const admitting = rules.find((rule) => ruleMatches(rule, subject));
  return admitting === undefined
    ? { allowed: false, because: 'no rule matches' }
    : { allowed: true, because: admitting };
}

export function ruleMatches(rule: string, subject: Subject): boolean {
  if (rule === 'public') return true;
  const separator = rule.indexOf(':');
  if (separator < 1) return false;
  const wanted = rule.slice(separator + 1);
  if (wanted === '') return false;
  switch (rule.slice(0, separator)) {
    case 'container':
      return subject.workspace === wanted;
    case 'role':
      return subject.roles?.includes(wanted) ?? false;
    case 'user':
      return subject.userId === wanted;
    case 'team':
      return subject.team === wanted;
    case 'brain':
      return subject.brain === wanted;
    default:
      return false;
  }
}

/** A copy of `data` without the filtered fields and with the masked ones hidden; only top-level fields count. */
export function hideFields(data: Record<string, unknown>, policy: Policy): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(data)) {
    if (policy.filter.includes(field)) continue;
    shown[field] = policy.mask.includes(field) ? MASKED : value;
  }
  return shown;
}
