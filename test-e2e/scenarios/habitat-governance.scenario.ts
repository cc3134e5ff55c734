/** Decisions: what speaks against them, which of them stand, and what follows. */
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { newName, verifies } from '../verifies.ts';

verifies('habitat:governance:checks', async ({ caller }) => {
  const operator = caller();
  const topic = newName('topic');
  const decide = (context: Fields) => operator.ok('governance_decide', { topic, context });
  expect(await decide({ requiresConsent: true })).toMatchObject({
    topic,
    action: topic,
    allowed: false,
    reason: 'Consent required',
    checks: { transparency: { passed: true }, consent: { assessed: true, passed: false } },
    standing: true,
  });
  expect(await decide({ requiresConsent: true, consentGiven: true })).toMatchObject({ allowed: true, reasons: [] });
  await operator.fails('VAF_INPUT_INVALID', 'governance_decide', { topic, context: { harmPotential: 2 } });
});

verifies('habitat:governance:reasons', async ({ caller }) => {
  const operator = caller();
  const decide = (context: Fields) => operator.ok('governance_decide', { topic: newName('topic'), context });
  expect(await decide({ harmPotential: 0.5 })).toMatchObject({ allowed: false, reason: 'Harm potential too high' });
  expect(await decide({ harmPotential: 0.499999 })).toMatchObject({ allowed: true });
  const { reason, reasons } = await decide({ harmPotential: 0.9, benefitScore: -1 });
  expect(reason).toBe('Harm potential too high');
  expect(reasons).toEqual(['Harm potential too high', 'No net benefit']);
});

verifies('habitat:governance:standing', async ({ place }) => {
  const workspace = await createMembers(place, 'admin', 'editor');
  const [admin, editor] = [memberAt(workspace, 0), memberAt(workspace, 1)];
  const isAllowed = () => editor.caller.ok('governance_isAllowed', { action: 'deploy' });
  expect(await isAllowed()).toMatchObject({ allowed: true, because: 'default', entity: editor.id });
  const denial = await admin.caller.ok('governance_decide', { topic: 'deploy', context: { harmPotential: 1 } });
  expect(denial).toMatchObject({ standing: true, allowed: false });
  expect(await isAllowed()).toMatchObject({ allowed: false, because: `decision:${String(denial['id'])}` });
  expect(await editor.caller.ok('governance_decide', { topic: 'deploy' })).toMatchObject({
    standing: false,
    allowed: true,
  });
  expect(await isAllowed()).toMatchObject({ allowed: false });
  const { id } = await admin.caller.ok('governance_decide', { topic: 'deploy' });
  expect(await isAllowed()).toMatchObject({ allowed: true, because: `decision:${String(id)}` });
});

verifies('habitat:governance:tenants', async ({ place }) => {
  const [acme, beta] = [await createMembers(place, 'editor'), await createMembers(place, 'admin')];
  const [inAcme, inBeta] = [memberAt(acme, 0).caller, memberAt(beta, 0).caller];
  await inBeta.ok('governance_decide', { topic: 'deploy', context: { harmPotential: 1 } });
  expect(await inBeta.ok('governance_isAllowed', { action: 'deploy' })).toMatchObject({ allowed: false });
  expect(await inAcme.ok('governance_isAllowed', { action: 'deploy' })).toMatchObject({ because: 'default' });
  expect(await inAcme.ok('governance_stats')).toMatchObject({ total: 0, allowRate: 0 });
  expect(await inAcme.ok('governance_history')).toEqual({ decisions: [] });
});
