/** Mistakes that people make when they count votes and join copies, as edits of our own rules. A law must notice each. */
import type { Mutant } from '@svc/testing/mutants.ts';

const one = (name: string, file: string, from: string, to: string): Mutant => ({ name, edits: [{ file, from, to }] });
const tally = (name: string, from: string, to: string): Mutant => one(name, 'tally.ts', from, to);
const merge = (name: string, from: string, to: string): Mutant => one(name, 'merge.ts', from, to);
const gates = (name: string, from: string, to: string): Mutant => one(name, 'ballot-gates.ts', from, to);
const hashes = (name: string, from: string, to: string): Mutant => one(name, 'ledger.ts', from, to);

export const MUTANTS: readonly Mutant[] = [
  tally('half of the weight wins', '2 * weight > total :', '2 * weight >= total :'),
  tally('the threshold itself does not pass', '100 * weight >= threshold', '100 * weight > threshold'),
  tally('the first of equals leads', '|| weights.indexOf(greatest, first + 1) !== -1', ''),
  tally('halves are cut', '(20_000 * weight + total) / (2 * total)', '(10_000 * weight) / total'),
  tally(
    'percentages in floating point',
    'Math.floor((20_000 * weight + total) / (2 * total)) / 100',
    '(100 * weight) / total',
  ),
  tally('the quorum is exceeded', 'sums.votes >= rules.minQuorum', 'sums.votes > rules.minQuorum'),
  tally('a quorum of weight', 'if (sums.votes < rules.minQuorum)', 'if (totalOf(sums) < 1000 * rules.minQuorum)'),
  tally(
    'the deadline itself is in time',
    'if (now < rules.deadline) return null;',
    'if (now <= rules.deadline) return null;',
  ),
  tally('decided when somebody looked', 'const decidedAt = rules.deadline;', 'const decidedAt = now;'),
  tally('a sealed topic is decided early', '!rules.sealed && sums.votes', 'sums.votes'),
  tally('trust weighs nothing', 'const LEAST_TRUST = 0.1;', 'const LEAST_TRUST = 0;'),
  tally('trust weighs parts of thousandths', 'Math.round(EQUAL_WEIGHT *', '(EQUAL_WEIGHT *'),
  tally('two ballots are called concentrated', 'const CONCENTRATED_FROM = 3;', 'const CONCENTRATED_FROM = 2;'),
  tally(
    'the winner of a rejected topic',
    "const winner = status === 'passed' ? winnerOf(rules, sums) : -1;",
    'const winner = leaderOf(sums);',
  ),
  tally(
    'counts of a decision are believed',
    'rules.ballot.every((option) => own.counts[option] === counts[option]) &&',
    '',
  ),
  tally('the percentage of a decision is believed', 'own.percentage === percentage &&', ''),
  tally('the status of a decision is believed', 'isDue?.status !== status ||', ''),
  merge(
    'the first proof against a voter stays',
    'else keepLeast(evidence, liarOf(ordered), ordered, nameOfPair);',
    'else if (!evidence.has(liarOf(ordered))) evidence.set(liarOf(ordered), ordered);',
  ),
  merge(
    'the last proof against a voter stays',
    'else keepLeast(evidence, liarOf(ordered), ordered, nameOfPair);',
    'else evidence.set(liarOf(ordered), ordered);',
  ),
  merge(
    'a lie of one node is another one of its voter',
    'evidence.has(voterKey(ballot)) ?',
    '[...evidence.values()].some(([first]) => first.ballot.voter === ballot.voter) ?',
  ),
  merge(
    'one proof for all nodes of a voter',
    'keepLeast(evidence, liarOf(ordered), ordered, nameOfPair)',
    'keepLeast(evidence, ordered[0].ballot.voter, ordered, nameOfPair)',
  ),
  merge(
    'ballots of two nodes are a lie',
    'voterKey(a.ballot) === voterKey(b.ballot) && ',
    'a.ballot.voter === b.ballot.voter && ',
  ),
  merge('decisions are told apart by their status', 'canonicalJson(told.decision)', 'told.decision.status'),
  merge('the last entry of a number stays', 'entryHash(signed.entry)', 'String(signed.entry.seq)'),
  merge('whoever signed an entry', 'verify.entry(signed) &&', ''),
  merge('whoever signed a ballot', '&&\n    verify.ballot({ ballot, sig: ballotSig })', ''),
  merge('whoever signed a decision', 'if (verify.decision(told))', 'if (told !== null)'),
  merge('whoever signed what proves a lie', 'if (!verify.ballot(a) || !verify.ballot(b)) return null;', ''),
  merge(
    'saying the same twice is a lie',
    'if (!isOne || a.ballot.outcome === b.ballot.outcome) return null;',
    'if (!isOne) return null;',
  ),
  merge(
    'ballots of two voters are a lie',
    'voterKey(a.ballot) === voterKey(b.ballot) && ',
    'a.ballot.node === b.ballot.node && ',
  ),
  merge('ballots of two topics are a lie', ' && b.ballot.header === header', ''),
  merge('a ballot of another topic', 'ballot.header === hash &&\n    ballot.topic === header.topic &&', ''),
  merge('a ballot for what is no option', 'header.ballot.includes(ballot.outcome) &&', ''),
  merge(
    'a decision is not counted again',
    'return holds(header, entries, only.decision) ? only',
    'return only !== undefined ? only',
  ),
  merge('a decision before its entries', 'if (entries.length < only.decision.entries) return null;', ''),
  merge(
    'the first of two decisions',
    "if (others.length > 0) return 'disputed';",
    'if (others.length > 20) return null;',
  ),
  merge(
    'gaps are passed over',
    'bySeq.get(entries.length + 1) ?? []',
    '[...bySeq.entries()].sort(([a], [b]) => a - b)[entries.length]?.[1] ?? []',
  ),
  merge(
    'later lies change what is decided',
    'return decidedHash(header, entries, decision.decision);',
    'return decidedHash(header, entries, { ...decision.decision, voided: [...voided] });',
  ),
  merge('a hash without what is void', 'void: voided.has(voter)', 'void: false'),
  merge(
    'ballots of a sealed topic are hashed',
    'if (header.sealed) return',
    'if (header.sealed && entries.length < 0) return',
  ),
  merge('any header', "if (headerHash(incoming.header) !== hash) return 'conflict';", ''),
  gates('a ballot at the deadline', 'now >= header.deadline', 'now > header.deadline'),
  gates(
    'strangers vote on what is public',
    "if (!voter.isMember) return header.scope?.visibility === 'public' ?",
    "if (!voter.isMember && header.scope?.visibility !== 'public') return header.scope?.visibility === 'public' ?",
  ),
  gates('a ballot from before the topic', 'votedAt >= createdAt - MAX_SKEW_MS && ', ''),
  gates('a ballot that is yet to be cast', 'votedAt <= now + MAX_SKEW_MS', 'votedAt <= now + 2 * MAX_SKEW_MS'),
  gates('closed before voted', 'if (voter.previous !== null)', "if (status === 'open' && voter.previous !== null)"),
  gates('one ballot too many', 'entries >= MAX_BALLOTS', 'entries > MAX_BALLOTS'),
  hashes(
    'a hash that forgets the end of a copy',
    'copy: () => runningHash(hash.copy(), entries)',
    'copy: () => runningHash(hash.copy(), 0)',
  ),
  hashes(
    'an entry without its weight',
    "canonicalJson(entry)).digest('hex')",
    "canonicalJson({ ...entry, weight: 0 })).digest('hex')",
  ),
  merge('a decision that was taken on something else', 'return isOfThese && ', 'return '),
];
