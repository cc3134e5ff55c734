import { describe, expect, it, test } from 'vitest';
import { isAllowed, judge } from './governance.ts';

describe('judge', () => {
  it('asks for consent that is required and not given', () => {
    expect(judge({ requiresConsent: true })).toMatchObject({ allowed: false, reason: 'Consent required' });
    expect(judge({ requiresConsent: true, consentGiven: false })).toMatchObject({ allowed: false });
    expect(judge({ requiresConsent: true, consentGiven: true })).toMatchObject({ allowed: true, reason: null });
    expect(judge({ consentGiven: false })).toMatchObject({ allowed: true });
  });

  it('draws the line of harm at a half, that of benefit above nothing', () => {
    expect(judge({ harmPotential: 0.5 })).toMatchObject({ allowed: false, reason: 'Harm potential too high' });
    expect(judge({ harmPotential: 0.499999 })).toMatchObject({ allowed: true });
    expect(judge({ benefitScore: 0 })).toMatchObject({ allowed: false, reason: 'No net benefit' });
    expect(judge({ benefitScore: Number.MIN_VALUE })).toMatchObject({ allowed: true });
  });

  it('names the first reason and tells all', () => {
    const judged = judge({ requiresConsent: true, harmPotential: 1, benefitScore: -1 });
    expect(judged.reason).toBe('Consent required');
    expect(judged.reasons).toEqual(['Consent required', 'Harm potential too high', 'No net benefit']);
    expect(judge({ harmPotential: 1, benefitScore: -1 })).toMatchObject({
      reason: 'Harm potential too high',
      reasons: ['Harm potential too high', 'No net benefit'],
    });
  });

  it('tells what it could not assess, and passes it', () => {
    const { checks, allowed } = judge({});
    expect(allowed).toBe(true);
    expect(checks).toEqual({
      transparency: { assessed: true, passed: true },
      consent: { assessed: false, passed: true },
      nonHarm: { assessed: false, passed: true },
      benefit: { assessed: false, passed: true },
    });
  });
});

test('quarantine goes before trust, trust before decisions', () => {
  const denial = { id: 'gov_1', allowed: false };
  const trusted = { allowed: true, because: 'score' } as const;
  expect(isAllowed({ allowed: false, because: 'quarantined' }, denial).because).toBe('quarantined');
  expect(isAllowed({ allowed: false, because: 'score' }, { ...denial, allowed: true })).toEqual({
    allowed: false,
    because: 'trust',
  });
  expect(isAllowed(trusted, denial)).toEqual({ allowed: false, because: 'decision:gov_1' });
  expect(isAllowed(trusted, { id: 'gov_2', allowed: true })).toEqual({ allowed: true, because: 'decision:gov_2' });
  expect(isAllowed(trusted, null)).toEqual({ allowed: true, because: 'default' });
});
