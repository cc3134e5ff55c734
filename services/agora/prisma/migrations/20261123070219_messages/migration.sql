-- CreateTable
CREATE TABLE "agora"."channels" (
    "channel" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "owner" TEXT,
    "family" TEXT NOT NULL,
    "first_seq" BIGINT NOT NULL DEFAULT 1,
    "last_seq" BIGINT NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "channels_pkey" PRIMARY KEY ("channel")
);

-- CreateTable
CREATE TABLE "agora"."messages" (
    "channel" TEXT NOT NULL,
    "seq" BIGINT NOT NULL,
    "message_id" TEXT NOT NULL,
    "sender" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "messages_pkey" PRIMARY KEY ("channel","seq")
);

-- CreateTable
CREATE TABLE "agora"."subscriptions" (
    "actor" TEXT NOT NULL,
    "channel" TEXT NOT NULL,
    "label" TEXT,
    "from_seq" BIGINT NOT NULL,
    "read_seq" BIGINT NOT NULL,

    CONSTRAINT "subscriptions_pkey" PRIMARY KEY ("actor","channel")
);

-- CreateTable
CREATE TABLE "agora"."handovers" (
    "asker" TEXT NOT NULL,
    "ref" TEXT NOT NULL,
    "answer" JSON NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "handovers_pkey" PRIMARY KEY ("asker","ref")
);

-- CreateIndex
CREATE INDEX "channels_family_idx" ON "agora"."channels"("family");

-- CreateIndex
CREATE INDEX "channels_owner_idx" ON "agora"."channels"("owner");

-- CreateIndex
CREATE INDEX "messages_at_idx" ON "agora"."messages"("at");

-- CreateIndex
CREATE INDEX "subscriptions_channel_idx" ON "agora"."subscriptions"("channel");

-- CreateIndex
CREATE INDEX "handovers_at_idx" ON "agora"."handovers"("at");
