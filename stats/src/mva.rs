//! Closed networks of queues: mean value analysis.

use crate::Error;

/// A closed network in its steady state, in the units of its demands.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Passes through the whole network in a unit of time.
    pub throughput: f64,
    /// The mean time of a pass, without the thinking.
    pub response: f64,
    /// The mean number of customers that wait at each station or are served there.
    pub queues: Vec<f64>,
}

impl Network {
    fn empty(stations: usize) -> Network {
        Network {
            throughput: 0.0,
            response: 0.0,
            queues: vec![0.0; stations],
        }
    }

    /// The share of time that a station with this demand is busy (the utilisation law).
    pub fn utilisation(&self, demand: f64) -> f64 {
        self.throughput * demand
    }
}

/// Exact mean value analysis of `customers` that pass by stations of a single server each, and think for `think` on the mean between
/// two passes (Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", JACM 27, 1980, equations 3.1 to
/// 3.3). `demands`: for each station, the mean time that it serves a customer in one pass, over all visits.
///
/// With n customers, D(k) the demands and Q(k) the queues that n - 1 customers make:
///
/// ```text
/// R(k) = D(k) (1 + Q(k)),   X = n / (think + Σ R(k)),   Q(k) = X R(k)
/// ```
///
/// It is exact where the network has a product form: stations that serve in order of arrival have exponential times. Times that vary
/// less wait less: the throughput of such a network is higher.
///
/// # Errors
/// A demand or the time to think is negative or not finite, all are 0, or there is no customer.
///
/// ```
/// // One customer never waits.
/// let network = jitterlab_stats::mva::analyse(&[2.0, 3.0], 5.0, 1)?;
/// assert_eq!((network.throughput, network.response), (0.1, 5.0));
/// # Ok::<(), jitterlab_stats::Error>(())
/// ```
pub fn analyse(demands: &[f64], think: f64, customers: u32) -> Result<Network, Error> {
    check(demands.iter().copied(), think, customers)?;
    let mut network = Network::empty(demands.len());
    for n in 1..=customers {
        let times = demands.iter().zip(&network.queues);
        let times: Vec<f64> = times
            .map(|(demand, queue)| demand * (1.0 + queue))
            .collect();
        network.response = times.iter().sum();
        network.throughput = f64::from(n) / (think + network.response);
        network.queues = times.iter().map(|time| network.throughput * time).collect();
    }
    Ok(network)
}

/// The work of a station for one pass of a customer, over all visits: mean times.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Demand {
    /// The time for what the customer waits for.
    pub awaited: f64,
    /// The time for what it sets off and does not wait for.
    pub beside: f64,
}

/// Approximate mean value analysis where all times of service are constant, and where a customer sets off work that it does not wait
/// for.
///
/// A customer finds Q(k) others. One of them is served with the chance U(k), and half of its constant time is left on the mean (Reiser,
/// "A Queueing Network Analysis of Computer Communication Networks with Window Flow Control", IEEE Transactions on Communications 27,
/// 1979). What nobody waits for stands in the queues, and not in the response (Heidelberger and Trivedi, "Queueing Network Models for
/// Parallel Processing with Asynchronous Tasks", IEEE Transactions on Computers 31, 1982). With n customers, D(k) and B(k) the two
/// parts of the demands, and Q(k) and U(k) of n - 1 customers:
///
/// ```text
/// R(k) = D(k) (1 + Q(k) - U(k) / 2)
/// X    = n / (think + Σ R(k)), and not more than 1 / (D(k) + B(k)) of any station
/// Q(k) = X (D(k) + B(k)) (1 + Q(k) - U(k) / 2),   U(k) = X (D(k) + B(k))
/// ```
///
/// # Errors
/// As for [`analyse`].
pub fn analyse_constant(demands: &[Demand], think: f64, customers: u32) -> Result<Network, Error> {
    let parts = demands
        .iter()
        .flat_map(|demand| [demand.awaited, demand.beside]);
    check(parts, think, customers)?;
    let whole = |demand: &Demand| demand.awaited + demand.beside;
    let busiest = demands.iter().map(whole).fold(0.0, f64::max);
    let mut network = Network::empty(demands.len());
    for n in 1..=customers {
        let found = demands.iter().zip(&network.queues);
        let found: Vec<f64> = found
            .map(|(demand, queue)| 1.0 + queue - network.utilisation(whole(demand)) / 2.0)
            .collect();
        let times = demands.iter().zip(&found);
        network.response = times.map(|(demand, found)| demand.awaited * found).sum();
        let free = f64::from(n) / (think + network.response);
        network.throughput = free.min(1.0 / busiest);
        let queues = demands.iter().zip(&found);
        network.queues = queues
            .map(|(demand, found)| network.throughput * whole(demand) * found)
            .collect();
    }
    Ok(network)
}

fn check(demands: impl Iterator<Item = f64>, think: f64, customers: u32) -> Result<(), Error> {
    let mut cycle = 0.0;
    for value in demands.chain([think]) {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(Error::Parameter {
                name: "a demand or the time to think",
                value,
                expected: "0 or more",
            });
        }
        cycle += value;
    }
    if cycle == 0.0 {
        return Err(Error::Parameter {
            name: "the time of a pass and the thinking",
            value: cycle,
            expected: "more than 0",
        });
    }
    if customers == 0 {
        return Err(Error::Parameter {
            name: "the number of customers",
            value: 0.0,
            expected: "1 or more",
        });
    }
    Ok(())
}
