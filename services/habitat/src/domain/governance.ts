/** What speaks against a decision, by what the one who asks declares of it. */

interface DeclaredContext {
  readonly requiresConsent?: boolean | undefined;
  readonly consentGiven?: boolean | undefined;
  /** 0 to 1. */
  readonly harmPotential?: number | undefined;
  readonly benefitScore?: number | undefined;
}

/** `assessed` false = nothing was declared, which passes. */
export interface Check {
  readonly assessed: boolean;
  readonly passed: boolean;
}

export interface Judgement {
  readonly allowed: boolean;
  /** The first that speaks against it; null = nothing does. */
  readonly reason: string | null;
  readonly reasons: readonly string[];
  readonly checks: {
    readonly transparency: Check;
    readonly consent: Check;
    readonly nonHarm: Check;
    readonly benefit: Check;
  };
}

const HARM_LIMIT = 0.5;

export function judge(context: DeclaredContext): Judgement {
  const { requiresConsent, consentGiven, harmPotential, benefitScore } = context;
  const consent = check(requiresConsent, (required) => !required || consentGiven === true);
  const nonHarm = check(harmPotential, (harm) => harm < HARM_LIMIT);
  const benefit = check(benefitScore, (score) => score > 0);
  const reasons = [
    ...(consent.passed ? [] : ['Consent required']),
    ...(nonHarm.passed ? [] : ['Harm potential too high']),
    ...(benefit.passed ? [] : ['No net benefit']),
  ];
  return {
    allowed: reasons.length === 0,
    reason: reasons[0] ?? null,
    reasons,
    // Whatever is decided is recorded for all who may see it.
    checks: { transparency: { assessed: true, passed: true }, consent, nonHarm, benefit },
  };
}

function check<Value>(declared: Value | undefined, passes: (value: Value) => boolean): Check {
  return declared === undefined ? { assessed: false, passed: true } : { assessed: true, passed: passes(declared) };
}

export interface StandingDecision {
  readonly id: string;
  readonly allowed: boolean;
}

/** `because`: what the answer hangs on. `standing`: the latest decision on the action, or null. */
export function isAllowed(
  trust: { readonly allowed: boolean; readonly because: 'score' | 'quarantined' },
  standing: StandingDecision | null,
): { readonly allowed: boolean; readonly because: string } {
  if (!trust.allowed) return { allowed: false, because: trust.because === 'quarantined' ? 'quarantined' : 'trust' };
  if (standing === null) return { allowed: true, because: 'default' };
  return { allowed: standing.allowed, because: `decision:${standing.id}` };
}
