-- CreateTable
CREATE TABLE "agora"."topics" (
    "topic" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "replica" BOOLEAN NOT NULL,
    "author" TEXT NOT NULL,
    "family" TEXT NOT NULL,
    "header" TEXT NOT NULL,
    "header_hash" TEXT NOT NULL,
    "header_sig" TEXT,
    "sealed" BOOLEAN NOT NULL,
    "deadline" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "scope_owner" TEXT,
    "hidden" BOOLEAN NOT NULL,
    "thread" TEXT,
    "status" TEXT NOT NULL,
    "entries" INTEGER NOT NULL DEFAULT 0,
    "sums" JSON NOT NULL,
    "voided" TEXT[],
    "decision" TEXT,
    "decision_sig" TEXT,
    "hash" TEXT,
    "disputed" BOOLEAN NOT NULL DEFAULT false,
    "synced_from" TEXT,
    "synced_at" TIMESTAMPTZ(3),
    "ordinal" BIGSERIAL NOT NULL,

    CONSTRAINT "topics_pkey" PRIMARY KEY ("topic")
);

-- CreateTable
CREATE TABLE "agora"."ballot_entries" (
    "topic" TEXT NOT NULL,
    "seq" INTEGER NOT NULL,
    "voter" TEXT NOT NULL,
    "node" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "voted_at" TIMESTAMPTZ(3) NOT NULL,
    "weight" INTEGER NOT NULL,
    "admitted_at" TIMESTAMPTZ(3) NOT NULL,
    "hash" TEXT NOT NULL,
    "sig" TEXT,
    "entry_sig" TEXT,

    CONSTRAINT "ballot_entries_pkey" PRIMARY KEY ("topic","seq")
);

-- CreateTable
CREATE TABLE "agora"."equivocations" (
    "topic" TEXT NOT NULL,
    "voter" TEXT NOT NULL,
    "pair" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "equivocations_pkey" PRIMARY KEY ("topic","voter")
);

-- CreateTable
CREATE TABLE "agora"."signed_ballots" (
    "header" TEXT NOT NULL,
    "voter" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "topic" TEXT NOT NULL,
    "ballot" TEXT NOT NULL,
    "sig" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "signed_ballots_pkey" PRIMARY KEY ("header","voter")
);

-- CreateIndex
CREATE INDEX "topics_ordinal_idx" ON "agora"."topics"("ordinal");

-- CreateIndex
CREATE INDEX "topics_family_idx" ON "agora"."topics"("family");

-- CreateIndex
CREATE INDEX "topics_thread_idx" ON "agora"."topics"("thread");

-- CreateIndex
CREATE INDEX "topics_owner_idx" ON "agora"."topics"("owner");

-- CreateIndex
CREATE UNIQUE INDEX "ballot_entries_topic_voter_key" ON "agora"."ballot_entries"("topic", "voter");

CREATE INDEX "topics_due" ON "agora"."topics" ("deadline") WHERE "status" = 'open' AND NOT "replica";
