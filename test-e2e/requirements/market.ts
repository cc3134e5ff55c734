/** Listings, bids, trades and skills. */
export const MARKET = {
  'market:trade:confirmed': [
    'market acceptance: plain trades 1',
    'A trade holds its price until its buyer confirms it; then the buyer has paid once, and the seller has earned it.',
  ],
  'market:trade:cancelled': [
    'market acceptance: plain trades 2',
    'Either party cancels a pending trade: money and supply are back; a second time it is closed, and for others it is absent.',
  ],
  'market:trade:timer': [
    'market acceptance: plain trades 3',
    'A pending trade completes by itself when its time has come, and is cancelled no more.',
  ],
  'market:trade:supply': ['market acceptance: plain trades 4', 'Of 50 buyers of one thing at once, one gets it.'],
  'market:trade:funds': [
    'market acceptance: plain trades 4',
    'A budget that bears two of five trades at once bears two, and the other three take no supply.',
  ],
  'market:trade:pool': [
    'market model',
    'The pool of a workspace pays within its limit and that of the member; its admins see the trade.',
  ],
  'market:trade:self': [
    'market acceptance: plain trades 5',
    'Nobody trades with themselves, their parent or their child; nothing is taken or held, and no reputation moves.',
  ],
  'market:trade:trust': [
    'market model',
    'Who is in quarantine does not trade, and who is hardly trusted sells nothing.',
  ],
  'market:trade:once': [
    'market acceptance: plain trades 6',
    'A purchase sent three times with one key is one trade with one hold; the key serves no other purchase.',
  ],
  'market:prices': [
    'market acceptance: plain trades 8',
    'A price is an exact amount, nothing, or words for barter, for which no money moves; anything else is bad input.',
  ],
  'market:consent': ['market model', 'Without consent nothing is offered and nothing is bought.'],
  'market:bids': [
    'market acceptance: plain trades 9',
    'The seller accepts a bid once, and its bidder pays what was bid; bids are withdrawn by their bidders.',
  ],
  'market:scoped': [
    'market acceptance: plain trades 10',
    'What is offered to a workspace, and bids on it, are absent to everybody else, wherever they look.',
  ],
  'market:scoped:events': [
    'market acceptance: plain trades 10',
    'Of what is offered to a workspace others hear nothing, and of a trade only its two parties do.',
  ],
  'market:scoped:counts': [
    'market acceptance: plain trades 10',
    'What is traded in a workspace counts for its members alone, in the statistics and in what a seller is worth.',
  ],
  'market:events': ['market events', 'Each step of an offer, a bid and a trade is told once, in its order.'],
  'market:skill:gate': [
    'market acceptance: skills 1; market acceptance: skills 10',
    'Skills are offered and bought while an operator lets them be; what was bought before goes on after that.',
  ],
  'market:skill:settled': [
    'market acceptance: skills 2',
    'A skill is held for, delivered by its seller and confirmed by its buyer, who then has paid exactly once.',
  ],
  'market:skill:refuted': [
    'market acceptance: skills 3',
    'A refuted skill costs nothing and stays taken, and its seller is trusted less.',
  ],
  'market:skill:cancelled': ['market skills', 'Before delivery either party cancels; nothing is delivered after that.'],
  'market:skill:payload': [
    'market acceptance: skills 4',
    'What is delivered has at most 65,536 bytes of canonical JSON and starts nothing; else the trade is as it was.',
  ],
  'market:skill:launch': [
    'market acceptance: skills 8',
    'What is meant to start something is not offered, nor is anything without consent; what is no skill is not bought as one.',
  ],
  'market:skill:expired': [
    'market acceptance: skills 5',
    'A skill that is not delivered in time costs nothing, whether or not anybody swept: money and supply are back.',
  ],
  'market:skill:hold': [
    'market acceptance: skills 6',
    'What is held for a skill outlives all windows of the trade by an hour, and no tool releases it.',
  ],
  'market:restart': [
    'market acceptance: skills 10',
    'After everything has ended each trade is in the state it was in, with its windows and what is held for it, and goes on.',
  ],
  'market:reputation': [
    'market acceptance: skills 9',
    'Many trades with one partner raise the trust score and not the score that resists shills; the partner is not named.',
  ],
  'market:events:skills': ['market events', 'Each step of a skill is told once, and what was delivered never.'],
  'market:refused:nobody': ['market actors', 'Nobody buys, sells or settles who is nobody: an operator says for whom.'],
  'market:refused:skill': [
    'market gates',
    'A skill is bought under the same conditions as anything else; whoever is refused has taken nothing.',
  ],
  'market:refused:elsewhere': ['market actors', 'Nobody offers where they do not belong, nor acts for somebody else.'],
  'market:consent:required': [
    'market model',
    'Where an operator wants to hear consent, silence is none: nothing is bought until the buyer says so.',
  ],
  'market:skill:storm': [
    'market acceptance: skills 7',
    'Whoever confirms, refutes, sweeps or cancels at the last moment, each trade ends once and its money moves once.',
  ],
  'market:trade:storm': [
    'market acceptance: plain trades 3',
    'Whoever confirms or cancels while the time of a trade runs out, it ends once and its money moves once.',
  ],
  'market:garbage': [
    'market model',
    'Calls that are almost right are answered with what is wrong, never with a failure, and change nothing they may not.',
  ],
  'market:ledger:away': [
    'market model: escrow port',
    'While the ledger is away what is decided stays so, its money is owed, and the same key has the final answer afterwards.',
  ],
  'market:killed': [
    'market acceptance: plain trades 7',
    'Whatever is killed at whichever step: what was acknowledged stands, nothing happens twice, and money follows each trade.',
  ],
} as const;
