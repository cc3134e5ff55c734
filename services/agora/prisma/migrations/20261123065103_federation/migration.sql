-- CreateTable
CREATE TABLE "agora"."node_peer" (
    "node" TEXT NOT NULL,
    "port" INTEGER,
    "agent_id" TEXT,
    "instance" TEXT,
    "seen_at" TIMESTAMPTZ(3),
    "skew_ms" INTEGER,
    "rival" TEXT,
    "rival_seen_at" TIMESTAMPTZ(3),
    "is_joined" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "node_peer_pkey" PRIMARY KEY ("node")
);

-- CreateTable
CREATE TABLE "agora"."node_principal" (
    "agent_id" TEXT NOT NULL,
    "node" TEXT NOT NULL,
    "is_configured" BOOLEAN NOT NULL,
    "bound_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "node_principal_pkey" PRIMARY KEY ("agent_id")
);

-- CreateTable
CREATE TABLE "agora"."node_nonce" (
    "sender" TEXT NOT NULL,
    "nonce" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "node_nonce_pkey" PRIMARY KEY ("sender","nonce")
);

-- CreateTable
CREATE TABLE "agora"."node_count" (
    "name" TEXT NOT NULL,
    "value" BIGINT NOT NULL,

    CONSTRAINT "node_count_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE UNIQUE INDEX "node_principal_node_key" ON "agora"."node_principal"("node");

-- CreateIndex
CREATE INDEX "node_nonce_at_idx" ON "agora"."node_nonce"("at");
