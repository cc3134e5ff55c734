const words = `
a able about above actually after again against ago all almost alone along already also although always am among an and
another any anybody anyhow anyone anything anyway anywhere are aren around as aside ask asked asking at away
be became because become becomes been before being below beside besides between beyond both but by
came can cannot cant come comes could couldn
d did didn different do does doesn doing don done down during
each either else enough especially etc even ever every everybody everyone everything everywhere exactly
far few find for found from further
gave get gets getting give given gives go goes going gone got
had hadn happen happened happens has hasn have haven having he hello help hence her here hers herself hi him himself his
how however
i if in indeed instead into is isn it its itself
just
keep kind knew know known
last lately later least less let lets like likely ll look looking looks
m made mainly make makes making many may maybe me mean meant might mightn mine more moreover most mostly much must mustn my
myself
namely near nearly necessary need needed needn needs neither never nevertheless nobody none nor not nothing now nowhere
o obviously of off often oh ok okay on once one ones only onto or other others otherwise ought our ours ourselves out over
overall own
particular per perhaps please possible probably provide put
quite
rather re really regarding
s said same saw say saying says see seem seemed seems seen several shall shan she should shouldn show since so some somebody
somehow someone something sometimes somewhere soon still such sure
t take taken tell than thank thanks that the their theirs them themselves then there thereby therefore these they thing
things think this those though through thus to together told too took toward towards tried try trying
under unless until up upon us use used uses using usually
various ve very via
want wanted wants was wasn way we well went were weren what whatever when whenever where wherever whether which while who
whoever whole whom whose why will with within without won would wouldn
y yeah yes yet you your yours yourself yourselves
`;

/** Surface words that carry no topic; they are dropped on the query side only, so that passages keep their true lengths. */
export const STOP_WORDS: ReadonlySet<string> = new Set(words.split(/\s/).filter((word) => word !== ''));
