-- Names are listed in the order of their bytes, whatever the collation of the database.
CREATE INDEX "channels_by_bytes" ON "agora"."channels" ("channel" COLLATE "C");
-- What is voted on now, among all that was decided.
CREATE INDEX "topics_open" ON "agora"."topics" ("ordinal") WHERE "status" = 'open';
-- Votes whose record is not where it belongs, among all for which nothing is to be done any more.
CREATE INDEX "forum_votes_owed" ON "agora"."forum_votes" ("tried_at") WHERE "owed" IN ('place', 'void');
