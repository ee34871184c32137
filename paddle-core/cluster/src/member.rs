//! What every worker does to be a part of the job: it says `Hello`, tells the master that it is there, and stops
//! serving before the master can take it for dead.

use crate::machine::{Effect, End};
use crate::message::*;
use crate::planted::{Bug, planted};
use crate::timing::{Micros, Timing};

/// What a machine is made with.
#[derive(Clone, Debug)]
pub struct Identity<P> {
    /// Its role's rank, from 0.
    pub rank: u32,
    /// A number that no other process of the job has.
    pub process: Process,
    /// Where it listens.
    pub address: P,
}

/// What a message meant for the membership of a worker.
pub(crate) enum Heard<P> {
    /// Nothing is left to do.
    Nothing,
    /// The message belongs to the role.
    Body(Body<P>),
    /// What the worker holds is void: the master let it in anew, or went back to a manifest. Then the message may
    /// belong to the role, too.
    Anew(Option<Body<P>>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Joining,
    In,
    Ended,
}

/// A worker's membership.
#[derive(Clone, Debug)]
pub(crate) struct Member<P> {
    role: Role,
    identity: Identity<P>,
    timing: Timing,
    state: State,
    epoch: Epoch,
    incarnation: Incarnation,
    /// Until when it may serve.
    serves_until: Micros,
    /// When the next `Hello` or heartbeat is due.
    next: Micros,
    leaving: bool,
}

impl<P: Clone> Member<P> {
    pub(crate) fn new(role: Role, identity: Identity<P>, timing: Timing) -> Self {
        Self {
            role,
            identity,
            timing,
            state: State::Joining,
            epoch: Epoch::default(),
            incarnation: Incarnation::default(),
            serves_until: 0,
            next: 0,
            leaving: false,
        }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) fn ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Whether the master cannot have given this worker's place to another.
    pub(crate) fn serves(&self, now: Micros) -> bool {
        self.state == State::In && (now < self.serves_until || planted(Bug::NoLease))
    }

    pub(crate) fn message(&self, body: Body<P>) -> Message<P> {
        let Identity { rank, process, .. } = self.identity;
        let from = Sender { role: self.role, rank, process, incarnation: self.incarnation };
        Message { epoch: self.epoch, from, body }
    }

    pub(crate) fn send(&self, to: To, body: Body<P>, effects: &mut Vec<Effect<P>>) {
        effects.push(Effect::Send { to, message: self.message(body) });
    }

    fn end(&mut self, end: End, effects: &mut Vec<Effect<P>>) {
        self.state = State::Ended;
        effects.push(Effect::End(end));
    }

    /// Asks the master to be let go.
    pub(crate) fn drain(&mut self) {
        self.leaving = true;
        self.next = 0;
    }

    /// Says `Hello` or that it is there, when that is due.
    pub(crate) fn tick(&mut self, now: Micros, effects: &mut Vec<Effect<P>>) {
        if self.state == State::In && now >= self.serves_until {
            self.state = State::Joining;
            self.next = now;
        }
        if self.leaving && self.state == State::Joining {
            // The master does not know it, or does not any more: it holds nothing that anybody counts on.
            return self.end(End::Left, effects);
        }
        if self.ended() || now < self.next {
            return;
        }
        if self.state == State::In {
            self.next = now.saturating_add(self.timing.heartbeat);
            self.send(To::Master, Body::Heartbeat { sent: now }, effects);
        } else {
            self.next = now.saturating_add(self.timing.retry);
            let address = self.identity.address.clone();
            self.send(To::Master, Body::Hello { sent: now, address }, effects);
        }
        if self.leaving {
            self.send(To::Master, Body::Leave, effects);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Micros> {
        match self.state {
            State::Joining => Some(self.next),
            State::In => Some(self.next.min(self.serves_until)),
            State::Ended => None,
        }
    }

    /// Serves from the time on at which a message that the master has answered was sent.
    fn renew(&mut self, now: Micros, sent: Micros) {
        // A time that is still to come is not of this worker.
        let until = sent.min(now).saturating_add(self.timing.serving());
        self.serves_until = self.serves_until.max(until);
    }

    /// Takes a message of the master. What comes from a master of an earlier epoch is refused.
    pub(crate) fn hear(
        &mut self,
        now: Micros,
        message: Message<P>,
        effects: &mut Vec<Effect<P>>,
    ) -> Heard<P> {
        if message.epoch < self.epoch && !planted(Bug::NoEpochs) {
            // An old refusal is not answered, or two machines could refuse each other's refusals for ever.
            if !matches!(message.body, Body::Refused(_)) {
                self.send(To::Process(message.from.process), Body::Refused(Refusal::Epoch), effects);
            }
            return Heard::Nothing;
        }
        match message.body {
            // A welcome that was overtaken by a later one.
            Body::Welcome { incarnation, .. } if incarnation < self.incarnation => Heard::Nothing,
            Body::Welcome { sent, incarnation, plans } => {
                let anew = incarnation != self.incarnation || message.epoch > self.epoch;
                self.epoch = message.epoch;
                self.incarnation = incarnation;
                self.state = State::In;
                self.renew(now, sent);
                self.next = now.saturating_add(self.timing.heartbeat);
                effects.extend(plans.iter().cloned().map(Effect::Learn));
                let plans = Body::Welcome { sent, incarnation, plans };
                if anew { Heard::Anew(Some(plans)) } else { Heard::Body(plans) }
            }
            Body::Refused(Refusal::Superseded(incarnation)) if incarnation == self.incarnation => {
                self.end(End::Superseded, effects);
                Heard::Nothing
            }
            Body::Refused(Refusal::Finished) => {
                self.end(End::Finished, effects);
                Heard::Nothing
            }
            Body::Refused(Refusal::Unknown) => {
                if self.state == State::In {
                    self.state = State::Joining;
                    self.next = now;
                }
                Heard::Nothing
            }
            // The worker is not in at this master: it has to say `Hello` first, and what the master says is for
            // somebody whom it takes for this worker.
            _ if self.state != State::In || message.epoch.election != self.epoch.election => Heard::Nothing,
            Body::Farewell if self.leaving => {
                self.end(End::Left, effects);
                Heard::Nothing
            }
            body => {
                if let Body::Alive { sent } = body {
                    self.renew(now, sent);
                }
                if message.epoch > self.epoch {
                    self.epoch = message.epoch;
                    return Heard::Anew(Some(body));
                }
                Heard::Body(body)
            }
        }
    }
}
